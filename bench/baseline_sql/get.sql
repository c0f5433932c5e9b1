-- The next user from a number on: what one by its externalId costs, without knowing which numbers are the partner's.
\set number random(1, :highest)
SELECT id, external_id, status, updated_at FROM users_user
 WHERE partner_id = :partner AND external_id >= 'load-' || lpad(:number::text, 8, '0')
 ORDER BY external_id LIMIT 1;
