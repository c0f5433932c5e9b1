CREATE OR REPLACE FUNCTION users_closure_of_present() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
    PERFORM FROM users_requirement r JOIN users_user u ON u.id = r.user_id
      WHERE r.id = NEW.requirement_id FOR NO KEY UPDATE OF u;
    -- `requirements_end` closes all of them with the decision: none is left to be closed by it later.
    IF NEW.decision_id IS NOT NULL AND NOT EXISTS (
        SELECT FROM users_requirement r JOIN users_statuschange d ON d.user_id = r.user_id
         WHERE r.id = NEW.requirement_id AND d.id = NEW.decision_id AND d.by_id = NEW.by_id
           AND d.to_status IN ('active', 'rejected', 'closed') AND d.created_at > r.created_at) THEN
        RAISE EXCEPTION 'A decision closes what was asked about its user before, in the name of who decided.'
            USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    NEW.created_at := clock_timestamp();
    RETURN NEW;
END
$$;
REVOKE ALL ON FUNCTION users_closure_of_present FROM PUBLIC;
