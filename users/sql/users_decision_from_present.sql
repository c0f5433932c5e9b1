CREATE OR REPLACE FUNCTION users_decision_from_present() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
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
    -- Not the transaction's time: one that began earlier may decide later. 2: CaseState.PARTNER.
    SELECT u.status_since, greatest(clock_timestamp(), u.status_since + interval '1 microsecond'),
           u.partner_wait + CASE WHEN u.case_state = 2
               THEN greatest(clock_timestamp() - u.case_state_since, interval '0') ELSE interval '0' END,
           u.partner_id, u.is_sandbox
      INTO NEW.since, NEW.created_at, NEW.partner_wait, NEW.partner_id, NEW.is_sandbox
      FROM users_user u WHERE u.id = NEW.user_id;
    RETURN NEW;
END
$$;
REVOKE ALL ON FUNCTION users_decision_from_present FROM PUBLIC;
