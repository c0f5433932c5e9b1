BEGIN;
INSERT INTO partners_idempotencyrecord (partner_id, key, fingerprint, method, path)
VALUES (:partner, gen_random_uuid(), decode(:digest, 'hex'), 'POST', '/v1/users')
RETURNING key AS idempotency_key, set_config('pghistory.context_metadata', '{"partner": "load-01"}', true) AS context
\gset
INSERT INTO users_user (id, partner_id, external_id, email, first_name, last_name, date_of_birth, address_line1, city,
                        postal_code, province, country, occupation, is_ciro_affiliate)
VALUES (gen_random_uuid(), :partner, 'baseline-' || gen_random_uuid(), 'ada@example.com', 'Ada', 'Byron', '1990-12-10',
        '100 King St W', 'Toronto', 'M5X 1A9', 'ON', 'CA', 'Engineer', false)
    ON CONFLICT (partner_id, external_id) DO NOTHING
RETURNING status;
UPDATE partners_idempotencyrecord SET status = 201, body = decode(repeat(:digest, 3), 'hex'), location = '/v1/users/baseline'
 WHERE partner_id = :partner AND key = :idempotency_key;
COMMIT;
