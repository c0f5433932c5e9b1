-- Quotes around the colons of the clock: what follows a bare one pgbench takes for a variable.
\set hours random(1, 17520)
-- Within the two years in which bench.load's users were created.
SELECT id, external_id, status, to_char(created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24":"MI":"SS.US"Z"'),
       to_char(updated_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24":"MI":"SS.US"Z"')
  FROM users_user
 WHERE partner_id = :partner
   AND (created_at, id) < (now() - :hours * interval '1 hour', uuid '00000000-0000-0000-0000-000000000000')
 ORDER BY created_at DESC, id DESC LIMIT 26;
