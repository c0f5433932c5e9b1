CREATE OR REPLACE FUNCTION users_proposal_of_present() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    present users_user%ROWTYPE;
BEGIN
    SELECT * INTO present FROM users_user WHERE id = NEW.user_id FOR NO KEY UPDATE;
    NEW.from_status := present.status;
    NEW.user_updated_at := present.updated_at;
    NEW.created_at := clock_timestamp();
    IF NEW.state <> 'open' OR NEW.ended_by_id IS NOT NULL OR NEW.ended_at IS NOT NULL OR NEW.note <> '' THEN
        RAISE EXCEPTION 'A proposal begins open.'
            USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    IF NOT users_takes_two(NEW.user_id, NEW.to_status) THEN
        RAISE EXCEPTION 'This move takes one person: there is no rule for it.'
            USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    IF NOT staff_may_decide(NEW.by_id) THEN
        RAISE EXCEPTION 'An active account that may decide proposes.'
            USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    RETURN NEW;
END
$$;
REVOKE ALL ON FUNCTION users_proposal_of_present FROM PUBLIC;
