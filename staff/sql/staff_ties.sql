CREATE OR REPLACE FUNCTION staff_ties(one bigint, other bigint, OUT related boolean, OUT makers text)
LANGUAGE sql STABLE SET search_path = public, pg_temp AS $$
    -- How two accounts are tied by what staff did to them within 30 days: made one, changed its roles, made it a
    -- superuser or no longer one, or reset its password or second factor.
    -- related: whether one of the two did so to the other. makers: the names of those who did so to both; empty where
    -- there is nobody.
    WITH act AS (
        SELECT DISTINCT entry.actor AS maker, made.id AS made
          FROM staff_staff made JOIN core_auditentry entry ON entry.object = made.username
         WHERE made.id IN (one, other) AND entry.actor_kind = 'staff' AND entry.at > now() - interval '30 days'
           AND (entry.action IN ('staff.created', 'staff.invited', 'staff.passwordChanged', 'staff.factorReset',
                                 'staffRole.created', 'staffRole.changed', 'staffRole.removed')
                OR entry.action = 'staff.changed' AND entry.detail #> '{changes,is_superuser}' IS NOT NULL)
    )
    SELECT EXISTS (
               SELECT FROM act JOIN staff_staff maker ON maker.username = act.maker
                WHERE maker.id IN (one, other) AND maker.id <> act.made),
           coalesce((SELECT string_agg(maker, ', ' ORDER BY maker)
                       FROM (SELECT maker FROM act GROUP BY maker HAVING count(*) = 2) AS common), '')
$$
