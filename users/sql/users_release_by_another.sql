CREATE OR REPLACE FUNCTION users_release_by_another() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
    IF NOT staff_may(NEW.by_id, 'keep_records') THEN
        RAISE EXCEPTION 'An active account that may decide, or audits, does this.'
            USING ERRCODE = 'integrity_constraint_violation', CONSTRAINT = 'keep_records';
    END IF;
    IF NEW.by_id = (SELECT by_id FROM users_hold WHERE id = NEW.hold_id) THEN
        RAISE EXCEPTION 'Another person releases a hold than the one who placed it.'
            USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    RETURN NEW;
END
$$;
REVOKE ALL ON FUNCTION users_release_by_another FROM PUBLIC;
