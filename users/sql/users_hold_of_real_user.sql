CREATE OR REPLACE FUNCTION users_hold_of_real_user() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    present users_user%ROWTYPE;
BEGIN
    IF NOT staff_may(NEW.by_id, 'keep_records') THEN
        RAISE EXCEPTION 'An active account that may decide, or audits, does this.'
            USING ERRCODE = 'integrity_constraint_violation', CONSTRAINT = 'keep_records';
    END IF;
    -- Waits for an erasure; then there is no such user.
    SELECT * INTO present FROM users_user WHERE id = NEW.user_id FOR NO KEY UPDATE;
    IF present.is_sandbox THEN
        RAISE EXCEPTION 'The records of sandbox users have no retention.'
            USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    RETURN NEW;
END
$$;
REVOKE ALL ON FUNCTION users_hold_of_real_user FROM PUBLIC;
