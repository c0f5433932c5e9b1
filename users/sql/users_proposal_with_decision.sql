CREATE OR REPLACE FUNCTION users_proposal_with_decision() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
    IF NOT EXISTS (
        SELECT FROM users_statuschange d WHERE d.proposal_id = NEW.id AND d.by_id = NEW.ended_by_id) THEN
        RAISE EXCEPTION 'A proposal is approved by a decision that names it.'
            USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    RETURN NEW;
END
$$;
REVOKE ALL ON FUNCTION users_proposal_with_decision FROM PUBLIC;
