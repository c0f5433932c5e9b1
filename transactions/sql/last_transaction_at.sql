CREATE OR REPLACE FUNCTION last_transaction_at(about uuid) RETURNS timestamptz
LANGUAGE sql STABLE SET search_path = public, pg_temp AS $$
    -- The newest time of a user's conversions and documents, for the clock of retention (users/models/retention.py).
    SELECT greatest(
        (SELECT created_at FROM transactions_conversion WHERE user_id = about ORDER BY created_at DESC LIMIT 1),
        (SELECT created_at FROM transactions_document WHERE user_id = about ORDER BY created_at DESC LIMIT 1))
$$;
REVOKE ALL ON FUNCTION last_transaction_at FROM PUBLIC;
