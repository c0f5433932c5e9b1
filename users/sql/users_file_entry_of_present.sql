CREATE OR REPLACE FUNCTION users_file_entry_of_present() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    present users_user%ROWTYPE;
    ended users_fileentry%ROWTYPE;
BEGIN
    -- Argument: at how many records of a user's identity a partner may add no other.
    SELECT * INTO present FROM users_user WHERE id = NEW.user_id FOR NO KEY UPDATE;
    NEW.context := coalesce(nullif(current_setting('pghistory.context_metadata', true), '')::jsonb, '{}');
    NEW.is_sandbox := coalesce(present.is_sandbox, false);
    NEW.created_at := greatest(clock_timestamp(), interval '1 microsecond' + (
        SELECT e.created_at FROM users_fileentry e
         WHERE e.user_id = NEW.user_id AND e.kind = NEW.kind AND e.topic = NEW.topic
         ORDER BY e.created_at DESC LIMIT 1));
    NEW.profile_event := (SELECT max(e.pgh_id) FROM users_userevent e WHERE e.pgh_obj_id = NEW.user_id);
    IF NEW.kind = 'identityVerification' AND NEW.by_id IS NULL AND NOT NEW.context ? 'operator' THEN
        IF present.status IN ('rejected', 'closed') THEN
            RAISE EXCEPTION 'The identity of a user who is rejected or closed is not verified.'
                USING ERRCODE = 'integrity_constraint_violation';
        END IF;
        IF (SELECT count(*) FROM users_fileentry e WHERE e.user_id = NEW.user_id AND e.kind = NEW.kind)
            >= TG_ARGV[0]::integer THEN
            RAISE EXCEPTION 'A user has at most % verifications.', TG_ARGV[0]
                USING ERRCODE = 'integrity_constraint_violation';
        END IF;
    END IF;
    IF NEW.ends_id IS NOT NULL THEN
        SELECT * INTO ended FROM users_fileentry WHERE id = NEW.ends_id;
        IF NOT ended.is_open OR (ended.user_id, ended.kind) <> (NEW.user_id, NEW.kind) THEN
            RAISE EXCEPTION 'This entry is closed already.'
                USING ERRCODE = 'integrity_constraint_violation';
        END IF;
        NEW.topic := ended.topic;
        NEW.is_open := false;
    ELSE
        -- A match that was resolved stays so: only another list or reference is another match.
        NEW.is_open := NEW.kind IN ('riskRating', 'personRequest')
            OR NEW.kind = 'screening' AND NEW.fields ->> 'result' = 'possibleMatch' AND NOT EXISTS (
               SELECT FROM users_fileentry e
                WHERE e.user_id = NEW.user_id AND e.kind = NEW.kind AND e.topic = NEW.topic
                  AND (e.is_open OR e.ends_id IS NOT NULL));
    END IF;
    RETURN NEW;
END
$$;
REVOKE ALL ON FUNCTION users_file_entry_of_present FROM PUBLIC;
