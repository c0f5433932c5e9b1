CREATE OR REPLACE FUNCTION users_identity_gap(about uuid, today date) RETURNS text
LANGUAGE sql STABLE SET search_path = public, pg_temp AS $$
    -- What the newest record of how a user's identity was verified lacks: `missing` where there is none, `changed` where
    -- name or birth date have changed since, `expired` where its document has; empty where it lacks nothing.
    SELECT coalesce((
        SELECT CASE
            WHEN EXISTS (
                SELECT FROM users_userevent verified
                  JOIN users_userevent later ON later.pgh_obj_id = about AND later.pgh_id > verified.pgh_id
                 WHERE verified.pgh_id = entry.profile_event
                   AND (later.first_name, later.last_name, later.date_of_birth)
                       IS DISTINCT FROM (verified.first_name, verified.last_name, verified.date_of_birth))
                THEN 'changed'
            WHEN entry.due_on < today THEN 'expired'
            ELSE ''
        END
          FROM users_fileentry entry
         WHERE entry.user_id = about AND entry.kind = 'identityVerification' AND entry.topic = ''
         ORDER BY entry.created_at DESC LIMIT 1), 'missing')
$$;
REVOKE ALL ON FUNCTION users_identity_gap FROM PUBLIC;

CREATE OR REPLACE FUNCTION users_identity_refusal(about uuid) RETURNS text
LANGUAGE sql STABLE SET search_path = public, pg_temp AS $$
    -- Why a user does not become active: the rule is on, and the newest record lacks something; null where it does.
    SELECT CASE WHEN rule.is_on THEN
        nullif('identity_' || users_identity_gap(about, (clock_timestamp() AT TIME ZONE rule.time_zone)::date), 'identity_')
    END
      FROM users_identityrule rule ORDER BY rule.id DESC LIMIT 1
$$;
REVOKE ALL ON FUNCTION users_identity_refusal FROM PUBLIC;
