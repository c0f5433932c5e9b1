CREATE OR REPLACE FUNCTION users_response_of_present() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    present users_user%ROWTYPE;
BEGIN
    -- Argument: the most answers to a requirement.
    SELECT u.* INTO present
      FROM users_requirement r JOIN users_user u ON u.id = r.user_id
     WHERE r.id = NEW.requirement_id FOR NO KEY UPDATE OF u;
    IF present.status = 'closed' THEN
        RAISE EXCEPTION 'The user is closed.'
            USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    IF users_requirement_state(NEW.requirement_id) = 'closed' THEN
        RAISE EXCEPTION 'This requirement is closed.'
            USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    -- No more rows are read than that.
    IF (SELECT count(*) FROM (
            SELECT FROM users_requirementresponse a
             WHERE a.requirement_id = NEW.requirement_id LIMIT TG_ARGV[0]::integer) AS found)
        = TG_ARGV[0]::integer THEN
        RAISE EXCEPTION 'A requirement has at most % answers.', TG_ARGV[0]
            USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    NEW.created_at := clock_timestamp();
    NEW.context := coalesce(nullif(current_setting('pghistory.context_metadata', true), '')::jsonb, '{}');
    NEW.profile_event := (SELECT max(e.pgh_id) FROM users_userevent e WHERE e.pgh_obj_id = present.id);
    RETURN NEW;
END
$$;
REVOKE ALL ON FUNCTION users_response_of_present FROM PUBLIC;
