CREATE OR REPLACE FUNCTION users_decision_from_present() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
    IF NEW.from_status = NEW.to_status THEN
        RAISE EXCEPTION 'A user does not move between these statuses: it has this one already.'
            USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    -- Arguments: the allowed moves, as two statuses with a blank between them.
    IF NOT NEW.from_status || ' ' || NEW.to_status = ANY (TG_ARGV) THEN
        RAISE EXCEPTION 'A user does not move between these statuses.'
            USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    IF NEW.from_status IS DISTINCT FROM (
        SELECT u.status FROM users_user u WHERE u.id = NEW.user_id FOR NO KEY UPDATE
    ) THEN
        RAISE EXCEPTION 'The user is not in the status that this row moves it from.'
            USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    -- Not the transaction's time: one that began earlier may decide later.
    SELECT greatest(clock_timestamp(), u.status_since + interval '1 microsecond'),
           u.waiting_since, u.partner_id, u.is_sandbox
      INTO NEW.created_at, NEW.waiting_since, NEW.partner_id, NEW.is_sandbox
      FROM users_user u WHERE u.id = NEW.user_id;
    RETURN NEW;
END
$$;
REVOKE ALL ON FUNCTION users_decision_from_present FROM PUBLIC;
