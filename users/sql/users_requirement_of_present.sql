CREATE OR REPLACE FUNCTION users_requirement_of_present() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    present users_user%ROWTYPE;
BEGIN
    -- Arguments: the most requirements of a user that are not closed, and the most at all.
    SELECT * INTO present FROM users_user WHERE id = NEW.user_id FOR NO KEY UPDATE;
    IF present.status IN ('rejected', 'closed') THEN
        RAISE EXCEPTION 'Nothing is asked about a user who is rejected or closed.'
            USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    IF (SELECT count(*) FROM users_requirement r WHERE r.user_id = NEW.user_id AND r.closed_at IS NULL)
        >= TG_ARGV[0]::integer THEN
        RAISE EXCEPTION 'A user has at most % requirements that are not closed.', TG_ARGV[0]
            USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    -- No more rows are read than that.
    IF (SELECT count(*) FROM (
            SELECT FROM users_requirement r WHERE r.user_id = NEW.user_id LIMIT TG_ARGV[1]::integer) AS found)
        = TG_ARGV[1]::integer THEN
        RAISE EXCEPTION 'A user has at most % requirements, closed ones included.', TG_ARGV[1]
            USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    NEW.closed_at := NULL;
    NEW.created_at := clock_timestamp();
    NEW.due_at := NEW.created_at + NEW.due_in_days * interval '24 hours';
    NEW.profile_event := (SELECT max(e.pgh_id) FROM users_userevent e WHERE e.pgh_obj_id = NEW.user_id);
    RETURN NEW;
END
$$;
REVOKE ALL ON FUNCTION users_requirement_of_present FROM PUBLIC;
