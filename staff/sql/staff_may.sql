CREATE OR REPLACE FUNCTION staff_may(account bigint, wanted text) RETURNS boolean
LANGUAGE sql STABLE SET search_path = public, pg_temp AS $$
    -- Whether an account is a person's, is active and has a permission of users: as a superuser, by one of its own or by
    -- one of a role. False for null.
    SELECT EXISTS (
        SELECT FROM staff_staff staff
         WHERE staff.id = account AND staff.is_active AND staff.is_staff AND (staff.is_superuser OR EXISTS (
            SELECT FROM auth_permission permission JOIN django_content_type type ON type.id = permission.content_type_id
             WHERE type.app_label = 'users' AND permission.codename = wanted AND (
                EXISTS (SELECT FROM staff_staff_user_permissions own
                         WHERE own.staff_id = staff.id AND own.permission_id = permission.id)
                OR EXISTS (SELECT FROM staff_staff_groups role
                             JOIN auth_group_permissions granted ON granted.group_id = role.group_id
                            WHERE role.staff_id = staff.id AND granted.permission_id = permission.id)))))
$$;

CREATE OR REPLACE FUNCTION staff_may_decide(account bigint) RETURNS boolean
LANGUAGE sql STABLE SET search_path = public, pg_temp AS $$
    SELECT staff_may(account, 'decide_user')
$$
