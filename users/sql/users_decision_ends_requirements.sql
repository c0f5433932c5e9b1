CREATE OR REPLACE FUNCTION users_decision_ends_requirements() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
    IF (SELECT u.open_requirements + u.answered_requirements FROM users_user u WHERE u.id = NEW.user_id) > 0 THEN
        INSERT INTO users_requirementclosure (requirement_id, by_id, decision_id)
        SELECT r.id, NEW.by_id, NEW.id FROM users_requirement r
         WHERE r.user_id = NEW.user_id AND r.closed_at IS NULL;
    END IF;
    RETURN NULL;
END
$$;
REVOKE ALL ON FUNCTION users_decision_ends_requirements FROM PUBLIC;
