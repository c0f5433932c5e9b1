CREATE OR REPLACE FUNCTION users_proposal_begins() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
    -- Of a decision or an erasure. Argument: the permission of users that both people need.
    IF NEW.state <> 'open' THEN
        RAISE EXCEPTION 'A proposal begins open.'
            USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    IF NEW.reason !~ '\S' THEN
        RAISE EXCEPTION 'A proposal has a reason.'
            USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    IF NOT staff_may(NEW.by_id, TG_ARGV[0]) THEN
        RAISE EXCEPTION 'An active account that may do this proposes it.'
            USING ERRCODE = 'integrity_constraint_violation', CONSTRAINT = TG_ARGV[0];
    END IF;
    NEW.created_at := clock_timestamp();
    RETURN NEW;
END
$$;
REVOKE ALL ON FUNCTION users_proposal_begins FROM PUBLIC;
