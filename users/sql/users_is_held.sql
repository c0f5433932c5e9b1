CREATE OR REPLACE FUNCTION users_is_held(about uuid) RETURNS SETOF boolean
-- As transactions/sql/users_due_at.sql it becomes a part of the statement.
LANGUAGE sql STABLE AS $$
    -- Whether a hold, or an open request of the person, keeps the records of a user.
    SELECT EXISTS (
        SELECT FROM users_hold hold WHERE hold.user_id = about
           AND NOT EXISTS (SELECT FROM users_holdrelease release WHERE release.hold_id = hold.id))
        OR EXISTS (
        SELECT FROM users_fileentry request
         WHERE request.user_id = about AND request.kind = 'personRequest' AND request.is_open)
$$;
REVOKE ALL ON FUNCTION users_is_held FROM PUBLIC;
