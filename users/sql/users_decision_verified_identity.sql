CREATE OR REPLACE FUNCTION users_decision_verified_identity() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    refusal text := users_identity_refusal(NEW.user_id);
BEGIN
    IF refusal IS NOT NULL THEN
        RAISE EXCEPTION 'A user becomes active with a verified identity.'
            USING ERRCODE = 'integrity_constraint_violation', CONSTRAINT = refusal;
    END IF;
    RETURN NEW;
END
$$;
REVOKE ALL ON FUNCTION users_decision_verified_identity FROM PUBLIC;
