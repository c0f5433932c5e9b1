CREATE OR REPLACE FUNCTION users_refresh_requirements(changed uuid[]) RETURNS void
LANGUAGE plpgsql SET search_path = public, pg_temp AS $$
BEGIN
    -- Brings the columns up to date that users have from their requirements. changed: of locked users.
    -- The states are those of CaseState: 0 the partner has answered, 1 compliance decides, 2 it waits for the partner.
    UPDATE users_user u
       SET open_requirements = n.open, requirements_due_at = n.due_at, answered_at = n.answered_at,
           case_state = n.state, partner_wait = n.partner_wait,
           case_state_since = CASE
               WHEN n.state = n.old_state THEN u.case_state_since
               WHEN n.state = 1 THEN u.status_since + n.partner_wait
               ELSE clock_timestamp() END
      FROM (SELECT s.*, CASE WHEN s.open > 0 THEN 2 WHEN s.submitted > 0 THEN 0 ELSE 1 END AS state,
                   CASE WHEN s.old_state = 2 AND s.open = 0
                       THEN s.old_wait + (clock_timestamp() - s.old_since) ELSE s.old_wait END AS partner_wait
              FROM (SELECT o.id, o.case_state AS old_state, o.case_state_since AS old_since,
                           o.partner_wait AS old_wait,
                           count(*) FILTER (WHERE r.state = 'open') AS open,
                           count(*) FILTER (WHERE r.state = 'submitted') AS submitted,
                           min(r.due_at) FILTER (WHERE r.state = 'open') AS due_at,
                           greatest(o.answered_at, max(r.answered_at)) AS answered_at
                      FROM users_user o
                      LEFT JOIN LATERAL (
                           SELECT q.due_at, users_requirement_state(q.id) AS state,
                                  (SELECT a.created_at FROM users_requirementresponse a
                                    WHERE a.requirement_id = q.id ORDER BY a.id DESC LIMIT 1) AS answered_at
                             FROM users_requirement q WHERE q.user_id = o.id AND q.closed_at IS NULL) r ON true
                     WHERE o.id = ANY (changed)
                     GROUP BY o.id) s) n
     WHERE u.id = n.id;
END
$$;
REVOKE ALL ON FUNCTION users_refresh_requirements FROM PUBLIC;
