CREATE OR REPLACE FUNCTION users_due_at(about uuid, years integer) RETURNS SETOF timestamptz
-- Where FROM names it, it becomes a part of the statement, as it sets no search_path: a call for each of many users takes
-- longer.
LANGUAGE sql STABLE AS $$
    -- When the records of a user are due for erasure; none in the statuses in which they never are, and of sandbox users.
    -- Calendar years, of UTC, from the move to the status, the newest conversion or the newest document.
    SELECT (greatest(u.status_since,
                     (SELECT max(created_at) FROM transactions_conversion WHERE user_id = u.id),
                     (SELECT max(created_at) FROM transactions_document WHERE user_id = u.id)) AT TIME ZONE 'UTC'
            + make_interval(years => years)) AT TIME ZONE 'UTC'
      FROM users_user u WHERE u.id = about AND u.status IN ('rejected', 'closed') AND NOT u.is_sandbox
$$;
REVOKE ALL ON FUNCTION users_due_at FROM PUBLIC;
