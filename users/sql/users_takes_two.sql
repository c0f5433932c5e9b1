CREATE OR REPLACE FUNCTION users_takes_two(about uuid, wanted text) RETURNS boolean
LANGUAGE sql STABLE SET search_path = public, pg_temp AS $$
    -- Whether a move of a user from its present status takes two people: where any condition holds of those that were set
    -- last for the move, which have one time. Sandbox users have no rules.
    SELECT EXISTS (
        SELECT FROM users_user u JOIN users_approvalrule rule ON rule.from_status = u.status
         WHERE u.id = about AND NOT u.is_sandbox AND rule.to_status = wanted
           AND rule.created_at = (
               SELECT created_at FROM users_approvalrule
                WHERE from_status = u.status AND to_status = wanted ORDER BY id DESC LIMIT 1)
           AND users_meets(u.id, rule.condition))
$$
