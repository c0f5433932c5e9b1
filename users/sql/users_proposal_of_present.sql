CREATE OR REPLACE FUNCTION users_proposal_of_present() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    present users_user%ROWTYPE;
BEGIN
    SELECT * INTO present FROM users_user WHERE id = NEW.user_id FOR NO KEY UPDATE;
    NEW.from_status := present.status;
    NEW.user_updated_at := present.updated_at;
    IF NOT users_takes_two(NEW.user_id, NEW.to_status) THEN
        RAISE EXCEPTION 'This move takes one person: there is no rule for it.'
            USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    IF EXISTS (
        SELECT FROM users_proposal p WHERE p.user_id = NEW.user_id
           AND users_is_open(p.state, p.created_at, p.user_updated_at, present.updated_at)) THEN
        RAISE EXCEPTION 'A user has at most one open proposal.'
            USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    RETURN NEW;
END
$$;
REVOKE ALL ON FUNCTION users_proposal_of_present FROM PUBLIC;
