CREATE OR REPLACE FUNCTION is_erasing() RETURNS boolean
LANGUAGE sql STABLE SET search_path = public, pg_temp AS $$
    -- Whether this statement erases a user: the row that stays has no counts yet (transactions/sql/erase.sql).
    SELECT EXISTS (SELECT FROM users_erasure WHERE rows = '{}')
$$;
REVOKE ALL ON FUNCTION is_erasing FROM PUBLIC;
