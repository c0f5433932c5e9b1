CREATE OR REPLACE FUNCTION users_decision_nothing_open() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
    IF (SELECT u.open_requirements FROM users_user u WHERE u.id = NEW.user_id FOR NO KEY UPDATE) > 0 THEN
        RAISE EXCEPTION 'A user with an open requirement does not become active.'
            USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    RETURN NEW;
END
$$;
REVOKE ALL ON FUNCTION users_decision_nothing_open FROM PUBLIC;
