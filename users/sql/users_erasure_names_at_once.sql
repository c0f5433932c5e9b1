CREATE OR REPLACE FUNCTION users_erasure_names_at_once() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
    IF EXISTS (
        SELECT FROM (SELECT DISTINCT proposal_id FROM inserted) AS i
          JOIN users_erasureproposal p ON p.id = i.proposal_id
         WHERE p.state <> 'open'
            OR p.users <> (SELECT count(*) FROM users_proposederasure r WHERE r.proposal_id = p.id)) THEN
        RAISE EXCEPTION 'An erasure names all its users in one statement.'
            USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    IF EXISTS (
        SELECT FROM inserted i
          JOIN users_proposederasure r ON r.user_id = i.user_id AND r.proposal_id <> i.proposal_id
          JOIN users_erasureproposal p ON p.id = r.proposal_id
         WHERE users_erasure_in_force(p.state, p.created_at, p.ended_at)) THEN
        RAISE EXCEPTION 'Another erasure that is open or approved names one of these users.'
            USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    RETURN NULL;
END
$$;
REVOKE ALL ON FUNCTION users_erasure_names_at_once FROM PUBLIC;
