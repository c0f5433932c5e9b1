-- Every request: whose key it is.
SELECT key.id, key.prefix, key.encrypted_secret, partner.slug, partner.rate_limit,
       partner.enabled AND key.revoked_at IS NULL AND (key.expires_at IS NULL OR key.expires_at > statement_timestamp())
  FROM partners_apikey key JOIN partners_partner partner ON partner.id = key.partner_id
 WHERE key.digest = decode(:digest, 'hex');
