CREATE OR REPLACE FUNCTION users_is_held(about uuid) RETURNS boolean
LANGUAGE sql STABLE SET search_path = public, pg_temp AS $$
    -- Whether a hold keeps the records of a user.
    SELECT EXISTS (
        SELECT FROM users_hold hold WHERE hold.user_id = about
           AND NOT EXISTS (SELECT FROM users_holdrelease release WHERE release.hold_id = hold.id))
$$;
REVOKE ALL ON FUNCTION users_is_held FROM PUBLIC;
