CREATE OR REPLACE FUNCTION is_staff(wanted text) RETURNS boolean
LANGUAGE sql STABLE SET search_path = public, pg_temp AS $$
    -- Whether an account has this name. For the audit log (core/models.py).
    SELECT EXISTS (SELECT FROM staff_staff WHERE username = wanted)
$$;
REVOKE ALL ON FUNCTION is_staff FROM PUBLIC;
