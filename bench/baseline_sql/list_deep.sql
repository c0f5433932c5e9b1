-- Quotes around the colons of the clock: what follows a bare one pgbench takes for a variable.
\set number random(1, :highest)
\set days random(1, 700)
SELECT id AS user_id FROM users_user
 WHERE partner_id = :partner AND external_id >= 'load-' || lpad(:number::text, 8, '0')
 ORDER BY external_id LIMIT 1 \gset
-- bench.load fills the two years before this day.
SELECT to_char(created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24":"MI":"SS.US"Z"'), tiebreak, conversion_id, type,
       from_currency, from_amount::text, to_currency, to_amount::text, rate::text
  FROM transactions_conversion
 WHERE user_id = :user_id AND (created_at, tiebreak) <= (timestamptz '2026-11-01Z' - :days * interval '1 day', 0)
 ORDER BY created_at DESC, tiebreak DESC LIMIT 102;
