CREATE OR REPLACE FUNCTION users_requirement_closes_once() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
    IF OLD.closed_at IS NOT NULL OR to_jsonb(OLD) - 'closed_at' <> to_jsonb(NEW) - 'closed_at'
        OR NEW.closed_at IS DISTINCT FROM (
            SELECT c.created_at FROM users_requirementclosure c WHERE c.requirement_id = OLD.id) THEN
        RAISE EXCEPTION 'This table refuses it: its rows are kept for good.'
            USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    RETURN NEW;
END
$$;
REVOKE ALL ON FUNCTION users_requirement_closes_once FROM PUBLIC;
