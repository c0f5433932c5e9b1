CREATE OR REPLACE FUNCTION users_opened_at(about uuid, account bigint, since timestamptz) RETURNS timestamptz
LANGUAGE sql STABLE SET search_path = public, pg_temp AS $$
    -- When an account, or for null anybody who may decide, last opened a page with the user's risk flags; null where that
    -- was not since then. The profile history has none of them.
    SELECT access.created_at FROM users_accessrecord access
     WHERE access.user_id = about AND access.kind = 'opened' AND access.detail <> 'history'
       AND access.created_at >= since
       AND (access.staff_id = account OR account IS NULL AND users_may_decide(access.staff_id))
     ORDER BY access.id DESC LIMIT 1
$$;
REVOKE ALL ON FUNCTION users_opened_at FROM PUBLIC;
