CREATE OR REPLACE FUNCTION users_status_machine() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
    SELECT latest.created_at, latest.reason_code INTO NEW.status_since, NEW.status_reason_code
      FROM (SELECT * FROM users_statuschange WHERE user_id = NEW.id ORDER BY created_at DESC LIMIT 1) AS latest
     WHERE from_status = OLD.status AND to_status = NEW.status AND created_at > OLD.status_since;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'A status moves by a row in users_statuschange.'
            USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    NEW.identity_changed_at := NULL;
    -- In another status a case waits only while there is an answer to read, as it did.
    IF NEW.status = 'pendingCompliance' THEN
        NEW.waiting_since := NEW.status_since;
    ELSIF NEW.answered_requirements = 0 THEN
        NEW.waiting_since := NULL;
    END IF;
    RETURN NEW;
END
$$;
REVOKE ALL ON FUNCTION users_status_machine FROM PUBLIC;
