"""API keys in force whose secrets no present key of SECRETS_ENCRYPTION_KEYS decrypts: a fault of this service."""

from contextlib import suppress

from cryptography.fernet import InvalidToken

from partners.authentication import encryption, keys
from partners.monitoring.database_gauges import Session

# Keys looked at, those used last first. To decrypt one takes some 50 µs.
MOST_KEYS = 1000

_IN_FORCE = f"""
    SELECT key.encrypted_secret
      FROM partners_apikey key JOIN partners_partner partner ON partner.id = key.partner_id
     WHERE {keys.MAY_CALL}
     ORDER BY key.last_used_at DESC NULLS LAST LIMIT {MOST_KEYS}
"""


def count_lost_secrets(database: Session) -> int:
    """How many of the MOST_KEYS keys in force that were used last have a lost secret. Raises psycopg.Error."""
    encrypted = [row[0] for row in database.execute(_IN_FORCE).fetchall()]
    readable = 0
    for secret in encrypted:
        with suppress(InvalidToken):
            encryption.decrypt(secret, purpose=encryption.API_SECRETS)
            readable += 1
    return len(encrypted) - readable
