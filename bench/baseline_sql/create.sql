BEGIN;
SELECT set_config('pghistory.context_metadata', '{"partner": "load-01"}', true);
INSERT INTO users_user (id, partner_id, external_id, email, first_name, last_name, date_of_birth, address_line1, city,
                        postal_code, province, country, occupation, is_ciro_affiliate)
VALUES (gen_random_uuid(), :partner, 'baseline-' || gen_random_uuid(), 'ada@example.com', 'Ada', 'Byron', '1990-12-10',
        '100 King St W', 'Toronto', 'M5X 1A9', 'ON', 'CA', 'Engineer', false)
    ON CONFLICT (partner_id, external_id) DO NOTHING
RETURNING status;
INSERT INTO partners_idempotencyrecord (partner_id, key, fingerprint, method, path, status, body, location)
VALUES (:partner, gen_random_uuid(), decode(:digest, 'hex'), 'POST', '/v1/users', 201, decode(repeat(:digest, 3), 'hex'),
        '/v1/users/baseline');
COMMIT;
