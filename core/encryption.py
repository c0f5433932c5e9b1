"""Encryption at rest under SECRETS_ENCRYPTION_KEYS (Fernet): the newest key encrypts, all of them decrypt.

Each purpose has derived keys of its own, so that texts of one purpose cannot be decrypted for another.
"""

import base64
from contextlib import suppress
from functools import lru_cache

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from django.conf import settings

API_SECRETS = "partner-service api secrets"
WEBHOOK_SECRETS = "partner-service webhook secrets"
SECOND_FACTORS = "partner-service staff second factors"


def encrypt(text: str, *, purpose: str) -> str:
    """Encrypt under the newest key."""
    return _ciphers(purpose)[0].encrypt(text.encode()).decode()


def decrypt(encrypted: str, *, purpose: str) -> str:
    """Decrypt under any present key. Raises cryptography's InvalidToken."""
    return MultiFernet(_ciphers(purpose)).decrypt(encrypted).decode()


def reencrypt(encrypted: str, *, purpose: str) -> str | None:
    """Encrypt the same text under the newest key; None if it is already. Raises InvalidToken."""
    with suppress(InvalidToken):
        _ciphers(purpose)[0].decrypt(encrypted)
        return None
    return encrypt(decrypt(encrypted, purpose=purpose), purpose=purpose)


def _ciphers(purpose: str) -> list[Fernet]:
    return [_cipher(key, purpose) for key in settings.SECRETS_ENCRYPTION_KEYS]


@lru_cache
def _cipher(key: str, purpose: str) -> Fernet:
    # Settings may have any form: the Fernet key is derived from them (RFC 5869).
    derived = HKDF(algorithm=hashes.SHA256(), length=32, salt=None, info=purpose.encode()).derive(key.encode())
    return Fernet(base64.urlsafe_b64encode(derived))
