CREATE OR REPLACE FUNCTION users_erasure_two_people() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    pair record;
BEGIN
    SELECT * INTO pair FROM staff_pair(OLD.by_id, NEW.ended_by_id, 'keep_records');
    IF pair.refusal IS NOT NULL THEN
        RAISE EXCEPTION 'An erasure takes two people: %', pair.refusal
            USING ERRCODE = 'integrity_constraint_violation', CONSTRAINT = pair.refusal;
    END IF;
    IF OLD.users <> (SELECT count(*) FROM users_proposederasure WHERE proposal_id = OLD.id) THEN
        RAISE EXCEPTION 'This erasure does not name its users.'
            USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    NEW.common_maker := pair.makers;
    RETURN NEW;
END
$$;
REVOKE ALL ON FUNCTION users_erasure_two_people FROM PUBLIC;
