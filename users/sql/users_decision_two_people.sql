CREATE OR REPLACE FUNCTION users_decision_two_people() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    present users_user%ROWTYPE;
    proposal users_proposal%ROWTYPE;
    ties record;
BEGIN
    NEW.common_maker := '';
    SELECT * INTO present FROM users_user WHERE id = NEW.user_id;
    IF NOT users_takes_two(NEW.user_id, NEW.to_status) THEN
        IF NEW.proposal_id IS NOT NULL THEN
            RAISE EXCEPTION 'This move takes one person: there is no rule for it.'
            USING ERRCODE = 'integrity_constraint_violation';
        END IF;
        RETURN NEW;
    END IF;
    SELECT * INTO proposal FROM users_proposal WHERE id = NEW.proposal_id FOR UPDATE;
    IF NOT FOUND OR proposal.user_id <> NEW.user_id OR proposal.from_status <> NEW.from_status
        OR proposal.to_status <> NEW.to_status OR NOT users_is_open(
            proposal.state, proposal.created_at, proposal.user_updated_at, present.updated_at) THEN
        RAISE EXCEPTION 'This move takes two people: an open proposal of this very move, on the user as it is.'
            USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    IF proposal.by_id = NEW.by_id OR NOT (staff_may_decide(NEW.by_id) AND staff_may_decide(proposal.by_id)) THEN
        RAISE EXCEPTION 'This move takes two people, each with an active account that may decide.'
            USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    SELECT * INTO ties FROM staff_ties(NEW.by_id, proposal.by_id);
    IF ties.related THEN
        RAISE EXCEPTION 'This move takes two people: within 30 days neither made, re-roled or reset the other.'
            USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    IF (NEW.reason, NEW.reason_code) IS DISTINCT FROM (proposal.reason, proposal.reason_code) THEN
        RAISE EXCEPTION 'This move takes two people, and has the reason of the proposal.'
            USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    NEW.common_maker := ties.makers;
    RETURN NEW;
END
$$;
REVOKE ALL ON FUNCTION users_decision_two_people FROM PUBLIC;
