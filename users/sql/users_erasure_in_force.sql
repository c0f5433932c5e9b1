CREATE OR REPLACE FUNCTION users_erasure_in_force(state text, created_at timestamptz, ended_at timestamptz)
RETURNS boolean
LANGUAGE sql STABLE SET search_path = public, pg_temp AS $$
    -- Whether a proposed erasure is open or approved, and has not expired.
    SELECT state = 'open' AND users_proposal_expiry(created_at) > clock_timestamp()
        OR state = 'approved' AND ended_at > clock_timestamp() - interval '30 days'
$$;
REVOKE ALL ON FUNCTION users_erasure_in_force FROM PUBLIC;
