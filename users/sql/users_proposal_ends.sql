CREATE OR REPLACE FUNCTION users_proposal_ends() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    ends CONSTANT text[] := ARRAY['state', 'ended_by_id', 'ended_at', 'note', 'common_maker'];
    blanked CONSTANT text[] := TG_ARGV[1];
BEGIN
    -- Of a decision or an erasure. Arguments: the permission of users that both people need; the columns that the
    -- erasure of a user may change (transactions/sql/erase.sql).
    IF pg_trigger_depth() > 1 AND to_jsonb(OLD) - blanked = to_jsonb(NEW) - blanked AND is_erasing() THEN
        RETURN NEW;
    END IF;
    IF OLD.state <> 'open' OR NEW.state NOT IN ('approved', 'declined')
        OR to_jsonb(OLD) - ends IS DISTINCT FROM to_jsonb(NEW) - ends THEN
        RAISE EXCEPTION 'A proposal ends once, and nothing else of it changes.'
            USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    IF users_proposal_expiry(OLD.created_at) <= clock_timestamp() THEN
        RAISE EXCEPTION 'This proposal has expired.'
            USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    IF NEW.state = 'declined' AND NEW.note !~ '\S' THEN
        RAISE EXCEPTION 'A proposal is declined with a note.'
            USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    -- Who disables the account of the proposer may be an administrator, or an operator.
    IF NOT staff_may(NEW.ended_by_id, TG_ARGV[0])
        AND NOT (NEW.state = 'declined' AND NOT (SELECT is_active FROM staff_staff WHERE id = OLD.by_id)) THEN
        RAISE EXCEPTION 'An active account that may do this approves or declines it.'
            USING ERRCODE = 'integrity_constraint_violation', CONSTRAINT = TG_ARGV[0];
    END IF;
    NEW.ended_at := clock_timestamp();
    RETURN NEW;
END
$$;
REVOKE ALL ON FUNCTION users_proposal_ends FROM PUBLIC;
