-- Quotes around the colons of the clock: what follows a bare one pgbench takes for a variable.
\set number random(1, :highest)
SELECT id AS user_id FROM users_user
 WHERE partner_id = :partner AND external_id >= 'load-' || lpad(:number::text, 8, '0')
 ORDER BY external_id LIMIT 1 \gset
SELECT to_char(created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24":"MI":"SS.US"Z"'), tiebreak, conversion_id, type,
       from_currency, from_amount::text, to_currency, to_amount::text, rate::text
  FROM transactions_conversion WHERE user_id = :user_id
 ORDER BY created_at DESC, tiebreak DESC LIMIT 26;
