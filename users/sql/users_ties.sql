CREATE OR REPLACE FUNCTION users_ties(one bigint, other bigint, OUT related boolean, OUT makers text)
LANGUAGE sql STABLE SET search_path = public, pg_temp AS $$
    -- How two accounts are tied by what staff did to accounts within 30 days: made one, changed its roles, made it a
    -- superuser or no longer one, or reset its password or second factor.
    -- related: whether one of the two did so to the other, or to an account that did, through any number of accounts.
    -- makers: the names of those who did so to both, likewise; empty where there is nobody.
    WITH RECURSIVE act AS MATERIALIZED (
        SELECT DISTINCT actor AS maker, object AS made FROM partners_auditentry
         WHERE action IN ('staff.created', 'staff.invited', 'staff.passwordChanged', 'staff.factorReset',
                          'staff.changed', 'staffRole.created', 'staffRole.changed', 'staffRole.removed')
           AND at > now() - interval '30 days' AND actor_kind = 'staff'
           AND (action <> 'staff.changed' OR detail #> '{changes,is_superuser}' IS NOT NULL)
    ), reached (account, maker) AS (
        SELECT id, username::text FROM users_staff WHERE id IN (one, other)
         UNION
        SELECT reached.account, act.maker FROM reached JOIN act ON act.made = reached.maker
    )
    SELECT EXISTS (
               SELECT FROM reached JOIN users_staff staff ON staff.username = reached.maker
                WHERE staff.id IN (one, other) AND staff.id <> reached.account),
           coalesce((SELECT string_agg(maker, ', ' ORDER BY maker)
                       FROM (SELECT maker FROM reached GROUP BY maker HAVING count(*) = 2) AS common), '')
$$
