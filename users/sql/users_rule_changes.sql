CREATE OR REPLACE FUNCTION users_rule_changes(start text, wanted text, set_at timestamptz) RETURNS jsonb
LANGUAGE sql STABLE SET search_path = public, pg_temp AS $$
    -- The conditions of a move before and after a statement that set some, for the audit log.
    WITH rule AS (SELECT * FROM users_approvalrule WHERE from_status = start AND to_status = wanted)
    SELECT jsonb_build_object('condition', jsonb_build_array(
        (SELECT string_agg(condition, ', ' ORDER BY id) FROM rule
          WHERE created_at = (SELECT created_at FROM rule WHERE created_at <> set_at ORDER BY id DESC LIMIT 1)),
        (SELECT string_agg(condition, ', ' ORDER BY id) FROM rule WHERE created_at = set_at)))
$$;
REVOKE ALL ON FUNCTION users_rule_changes FROM PUBLIC;
