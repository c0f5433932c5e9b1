CREATE OR REPLACE FUNCTION users_due_at(about uuid, years integer) RETURNS timestamptz
LANGUAGE plpgsql STABLE SET search_path = public, pg_temp AS $$
BEGIN
    -- When the records of a user are due for erasure; null in the statuses in which they never are, and of sandbox users.
    -- Calendar years, of UTC. The app transactions defines the function that this one calls.
    RETURN (SELECT ((greatest(u.status_since, last_transaction_at(u.id)) AT TIME ZONE 'UTC')
                    + make_interval(years => users_due_at.years)) AT TIME ZONE 'UTC'
              FROM users_user u WHERE u.id = about AND u.status IN ('rejected', 'closed') AND NOT u.is_sandbox);
END
$$;
REVOKE ALL ON FUNCTION users_due_at FROM PUBLIC;
