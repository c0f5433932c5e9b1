CREATE OR REPLACE FUNCTION transactions_mark_threshold() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
    -- Arguments: the currency, the amount, and how many conversions of a sandbox user are added up at a time: sandbox
    -- partners make as many as they like.
    -- Two imports at once would not see each other's rows: from here to the commit those of a partner take turns.
    PERFORM pg_advisory_xact_lock(4, hashint8(partner_id))
       FROM (SELECT DISTINCT partner_id FROM inserted WHERE TG_ARGV[0] IN (from_currency, to_currency) ORDER BY 1) AS each;
    UPDATE transactions_conversion marked SET reaches_threshold = true
      FROM (SELECT user_id, is_sandbox, min(created_at) AS oldest, max(created_at) AS newest
              FROM inserted WHERE TG_ARGV[0] IN (from_currency, to_currency) GROUP BY user_id, is_sandbox) AS changed
     CROSS JOIN LATERAL (
           SELECT id, reaches_threshold AS is_marked,
                  sum(CASE WHEN from_currency = TG_ARGV[0] THEN from_amount ELSE to_amount END) OVER (
                      ORDER BY created_at DESC RANGE BETWEEN CURRENT ROW AND interval '24 hours' FOLLOWING) AS total
             FROM (SELECT * FROM transactions_conversion
                    WHERE user_id = changed.user_id AND TG_ARGV[0] IN (from_currency, to_currency)
                      AND created_at BETWEEN changed.oldest - interval '24 hours' AND changed.newest + interval '24 hours'
                    ORDER BY created_at DESC
                    LIMIT CASE WHEN changed.is_sandbox THEN TG_ARGV[2]::integer END) AS near) AS added
     WHERE marked.id = added.id AND added.total >= TG_ARGV[1]::numeric AND NOT added.is_marked;
    RETURN NULL;
END
$$;
REVOKE ALL ON FUNCTION transactions_mark_threshold FROM PUBLIC;
