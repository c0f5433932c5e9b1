CREATE OR REPLACE FUNCTION users_erasure_counted_once() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
    IF OLD.rows <> '{}' OR pg_trigger_depth() < 2
        OR to_jsonb(OLD) - 'rows' IS DISTINCT FROM to_jsonb(NEW) - 'rows' THEN
        RAISE EXCEPTION 'What is left of a user does not change.'
            USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    RETURN NEW;
END
$$;
REVOKE ALL ON FUNCTION users_erasure_counted_once FROM PUBLIC;
