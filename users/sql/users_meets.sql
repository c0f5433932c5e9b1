CREATE OR REPLACE FUNCTION users_meets(about uuid, condition text) RETURNS boolean
LANGUAGE sql STABLE SET search_path = public, pg_temp AS $$
    -- Whether the condition of a rule holds for a user: as it is, or as it was in any version since its last decision, or
    -- since its creation where there is none. Who can change a field cannot switch the rule off.
    -- Each version has a row in users_userevent, also of those of one transaction; the partial indexes make it one look-up.
    SELECT CASE condition
        WHEN 'always' THEN true
        WHEN 'ciroAffiliate' THEN u.is_ciro_affiliate OR EXISTS (
            SELECT FROM users_userevent version
             WHERE version.pgh_obj_id = u.id AND version.status_since = u.status_since AND version.is_ciro_affiliate)
        WHEN 'countryNotCanada' THEN u.country <> 'CA' OR EXISTS (
            SELECT FROM users_userevent version
             WHERE version.pgh_obj_id = u.id AND version.status_since = u.status_since AND NOT version.country = 'CA')
        ELSE false
    END
      FROM users_user u WHERE u.id = about
$$
