CREATE OR REPLACE FUNCTION users_proposal_ends_once() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    present users_user%ROWTYPE;
    ends CONSTANT text[] := ARRAY['state', 'ended_by_id', 'ended_at', 'note'];
BEGIN
    -- The erasure of another user blanks its userId (transactions/sql/erase.sql).
    IF pg_trigger_depth() > 1 AND to_jsonb(OLD) - 'basis' = to_jsonb(NEW) - 'basis'
        AND is_erasing() THEN
        RETURN NEW;
    END IF;
    IF OLD.state <> 'open' OR NEW.state = 'open'
        OR to_jsonb(OLD) - ends IS DISTINCT FROM to_jsonb(NEW) - ends THEN
        RAISE EXCEPTION 'A proposal ends once, and nothing else of it changes.'
            USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    SELECT * INTO present FROM users_user WHERE id = NEW.user_id;
    NEW.ended_at := clock_timestamp();
    IF NEW.state = 'approved' THEN
        IF NOT EXISTS (
            SELECT FROM users_statuschange d WHERE d.proposal_id = NEW.id AND d.by_id = NEW.ended_by_id) THEN
            RAISE EXCEPTION 'A proposal is approved by a decision that names it.'
            USING ERRCODE = 'integrity_constraint_violation';
        END IF;
    ELSIF NEW.state = 'expired' THEN
        -- A minute is for the clocks of other machines.
        IF users_proposal_expiry(OLD.created_at) > clock_timestamp() + interval '1 minute'
            OR NEW.ended_by_id IS NOT NULL THEN
            RAISE EXCEPTION 'This proposal has not expired.'
            USING ERRCODE = 'integrity_constraint_violation';
        END IF;
        NEW.ended_at := users_proposal_expiry(OLD.created_at);
    ELSIF NEW.state = 'overtaken' THEN
        IF present.updated_at = OLD.user_updated_at OR NEW.ended_by_id IS NOT NULL THEN
            RAISE EXCEPTION 'The user has not changed since this proposal.'
            USING ERRCODE = 'integrity_constraint_violation';
        END IF;
        NEW.ended_at := (
            SELECT min(event.updated_at) FROM users_userevent event
             WHERE event.pgh_obj_id = NEW.user_id AND event.updated_at > OLD.user_updated_at);
    ELSIF NEW.note !~ '\S' THEN
        RAISE EXCEPTION 'A proposal is declined with a note.'
            USING ERRCODE = 'integrity_constraint_violation';
    ELSIF NOT staff_may_decide(NEW.ended_by_id)
        -- Who disables the account of the proposer may be an administrator, or an operator.
        AND (SELECT is_active FROM staff_staff WHERE id = NEW.by_id) THEN
        RAISE EXCEPTION 'Somebody who may decide declines a proposal.'
            USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    RETURN NEW;
END
$$;
REVOKE ALL ON FUNCTION users_proposal_ends_once FROM PUBLIC;
