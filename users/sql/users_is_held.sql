CREATE OR REPLACE FUNCTION users_is_held(about uuid) RETURNS boolean
LANGUAGE sql STABLE SET search_path = public, pg_temp AS $$
    -- Whether a hold, or an open request of the person, keeps the records of a user.
    SELECT EXISTS (
        SELECT FROM users_hold hold WHERE hold.user_id = about
           AND NOT EXISTS (SELECT FROM users_holdrelease release WHERE release.hold_id = hold.id))
        OR EXISTS (
        SELECT FROM users_fileentry request
         WHERE request.user_id = about AND request.kind = 'personRequest' AND request.is_open)
$$;
REVOKE ALL ON FUNCTION users_is_held FROM PUBLIC;
