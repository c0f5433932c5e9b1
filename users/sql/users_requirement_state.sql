CREATE OR REPLACE FUNCTION users_requirement_state(asked uuid) RETURNS text
LANGUAGE sql STABLE SET search_path = public, pg_temp AS $$
    -- The state of a requirement, of RequirementState, which its rows say.
    SELECT CASE
        WHEN EXISTS (SELECT FROM users_requirementclosure WHERE requirement_id = asked) THEN 'closed'
        WHEN EXISTS (SELECT FROM users_requirementresponse WHERE requirement_id = asked) THEN 'submitted'
        ELSE 'open'
    END
$$;
REVOKE ALL ON FUNCTION users_requirement_state FROM PUBLIC;
