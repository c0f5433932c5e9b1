CREATE OR REPLACE FUNCTION users_erasure_is_due() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    erased users_user%ROWTYPE;
    proposal users_erasureproposal%ROWTYPE;
BEGIN
    -- Waits for those who write about the user, and keeps others waiting.
    SELECT * INTO erased FROM users_user WHERE id = NEW.user_id FOR UPDATE;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'There is no such user.'
            USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    NEW.due_at := users_due_at(erased.id, NEW.years);
    IF NEW.due_at IS NULL OR NEW.due_at > clock_timestamp() THEN
        RAISE EXCEPTION 'The records of this user are not due for erasure.'
            USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    IF users_is_held(erased.id) THEN
        RAISE EXCEPTION 'The records of this user are held.'
            USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    SELECT p.* INTO proposal
      FROM users_proposederasure r JOIN users_erasureproposal p ON p.id = r.proposal_id
     WHERE r.user_id = erased.id AND p.state = 'approved' AND users_erasure_in_force(p.state, p.created_at, p.ended_at)
     ORDER BY p.ended_at LIMIT 1;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'Two people have not approved the erasure of this user.'
            USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    NEW.proposal_id := proposal.id;
    NEW.proposed_by_id := proposal.by_id;
    NEW.approved_by_id := proposal.ended_by_id;
    NEW.partner_id := erased.partner_id;
    NEW.erased_at := clock_timestamp();
    NEW.rows := '{}';
    RETURN NEW;
END
$$;
REVOKE ALL ON FUNCTION users_erasure_is_due FROM PUBLIC;
