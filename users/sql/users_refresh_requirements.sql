CREATE OR REPLACE FUNCTION users_refresh_requirements(changed uuid[]) RETURNS void
LANGUAGE plpgsql SET search_path = public, pg_temp AS $$
BEGIN
    -- Brings the columns up to date that users have from their requirements. changed: of locked users.
    -- A case waits for compliance while nothing is open, and it is to be decided or has an answer. Once it does, a
    -- second answer does not change since when.
    UPDATE users_user u
       SET open_requirements = n.open, answered_requirements = n.answered, requirements_due_at = n.due_at,
           answered_at = greatest(u.answered_at, n.answered_at),
           waiting_since = CASE WHEN n.open = 0 AND (n.answered > 0 OR u.status = 'pendingCompliance')
               THEN coalesce(u.waiting_since, greatest(u.status_since, u.answered_at, n.answered_at)) END
      FROM (SELECT o.id,
                   count(*) FILTER (WHERE r.state = 'open') AS open,
                   count(*) FILTER (WHERE r.state = 'submitted') AS answered,
                   min(r.due_at) FILTER (WHERE r.state = 'open') AS due_at,
                   max(r.answered_at) AS answered_at
              FROM users_user o
              LEFT JOIN LATERAL (
                   SELECT q.due_at, users_requirement_state(q.id) AS state,
                          (SELECT a.created_at FROM users_requirementresponse a
                            WHERE a.requirement_id = q.id ORDER BY a.id DESC LIMIT 1) AS answered_at
                     FROM users_requirement q WHERE q.user_id = o.id AND q.closed_at IS NULL) r ON true
             WHERE o.id = ANY (changed)
             GROUP BY o.id) n
     WHERE u.id = n.id;
END
$$;
REVOKE ALL ON FUNCTION users_refresh_requirements FROM PUBLIC;
