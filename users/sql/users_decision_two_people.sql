CREATE OR REPLACE FUNCTION users_decision_two_people() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    present users_user%ROWTYPE;
    proposal users_proposal%ROWTYPE;
    pair record;
BEGIN
    NEW.common_maker := '';
    SELECT * INTO present FROM users_user WHERE id = NEW.user_id;
    IF NOT users_takes_two(NEW.user_id, NEW.to_status) THEN
        IF NEW.proposal_id IS NOT NULL THEN
            RAISE EXCEPTION 'This move takes one person by now.'
            USING ERRCODE = 'integrity_constraint_violation';
        END IF;
        RETURN NEW;
    END IF;
    IF NEW.proposal_id IS NULL THEN
        SELECT * INTO proposal FROM users_proposal p
         WHERE p.user_id = NEW.user_id AND users_is_open(p.state, p.created_at, p.user_updated_at, present.updated_at);
        IF FOUND THEN
            RAISE EXCEPTION 'This move takes two people: one has proposed it.'
            USING ERRCODE = 'integrity_constraint_violation', DETAIL = proposal.id;
        END IF;
    END IF;
    SELECT * INTO proposal FROM users_proposal WHERE id = NEW.proposal_id FOR UPDATE;
    IF NOT FOUND OR proposal.user_id <> NEW.user_id OR proposal.from_status <> NEW.from_status
        OR proposal.to_status <> NEW.to_status OR NOT users_is_open(
            proposal.state, proposal.created_at, proposal.user_updated_at, present.updated_at) THEN
        RAISE EXCEPTION 'This move takes two people: an open proposal of this very move, on the user as it is.'
            USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    SELECT * INTO pair FROM staff_pair(proposal.by_id, NEW.by_id, 'decide_user');
    IF pair.refusal IS NOT NULL THEN
        RAISE EXCEPTION 'This move takes two people: %', pair.refusal
            USING ERRCODE = 'integrity_constraint_violation', CONSTRAINT = pair.refusal;
    END IF;
    IF (NEW.reason, NEW.reason_code) IS DISTINCT FROM (proposal.reason, proposal.reason_code) THEN
        RAISE EXCEPTION 'This move takes two people, and has the reason of the proposal.'
            USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    NEW.common_maker := pair.makers;
    RETURN NEW;
END
$$;
REVOKE ALL ON FUNCTION users_decision_two_people FROM PUBLIC;
