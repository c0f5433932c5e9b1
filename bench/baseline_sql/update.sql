\set number random(1, :highest)
\set change random(1, 1000000000)
BEGIN;
SELECT set_config('pghistory.context_metadata', '{"partner": "load-01"}', true);
SELECT id AS user_id, external_id, status, updated_at, email, first_name, last_name, date_of_birth, address_line1,
       address_line2, city, postal_code, province, country, occupation, is_ciro_affiliate
  FROM users_user WHERE partner_id = :partner AND external_id >= 'load-' || lpad(:number::text, 8, '0')
 ORDER BY external_id LIMIT 1 FOR NO KEY UPDATE \gset
UPDATE users_user SET email = 'ada.' || :change || '@example.com', address_line1 = :change || ' King St W',
       occupation = 'Engineer ' || :change
 WHERE id = :user_id
RETURNING updated_at;
INSERT INTO partners_idempotencyrecord (partner_id, key, fingerprint, method, path, status, body)
VALUES (:partner, gen_random_uuid(), decode(:digest, 'hex'), 'PATCH', '/v1/users/baseline', 200,
        decode(repeat(:digest, 3), 'hex'));
COMMIT;
