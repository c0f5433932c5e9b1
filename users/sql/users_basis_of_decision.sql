CREATE OR REPLACE FUNCTION users_basis_of_decision() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    about users_user.id%TYPE;
    entered_at timestamptz;
BEGIN
    IF NEW.decision_id IS NOT NULL THEN
        SELECT d.by_id, d.is_sandbox, d.created_at, d.proposal_id IS NOT NULL, d.user_id, d.since
          INTO NEW.staff_id, NEW.is_sandbox, NEW.created_at, NEW.is_of_two, about, entered_at
          FROM users_statuschange d WHERE d.id = NEW.decision_id;
    ELSE
        SELECT a.staff_id, u.is_sandbox, a.created_at, false, u.id, u.status_since
          INTO NEW.staff_id, NEW.is_sandbox, NEW.created_at, NEW.is_of_two, about, entered_at
          FROM users_accessrecord a JOIN users_user u ON u.id = a.user_id
         WHERE a.id = NEW.review_id AND a.kind = 'reviewed';
    END IF;
    -- now() is the beginning of the transaction.
    IF NEW.staff_id IS NULL OR NEW.created_at < now() THEN
        RAISE EXCEPTION 'A basis is recorded with its decision or review.'
            USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    NEW.open_seconds := extract(epoch FROM NEW.created_at - users_opened_at(about, NEW.staff_id, entered_at));
    RETURN NEW;
END
$$;
REVOKE ALL ON FUNCTION users_basis_of_decision FROM PUBLIC;
