"""Secrets at rest: encrypted under SECRETS_ENCRYPTION_KEYS (Fernet), of which the newest encrypts and all decrypt.

Each purpose has keys of its own, derived from the same settings: what was encrypted for one decrypts
for no other.
"""

import base64
from contextlib import suppress
from functools import lru_cache

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from django.conf import settings

API_SECRETS = "partner-service api secrets"
SECOND_FACTORS = "partner-service staff second factors"


def encrypt(text: str, *, purpose: str) -> str:
    """The text as it is stored: its length shows, nothing else does."""
    return _ciphers(purpose)[0].encrypt(text.encode()).decode()


def decrypt(encrypted: str, *, purpose: str) -> str:
    """What was encrypted. Raises cryptography's InvalidToken where no present key or another purpose made it."""
    return MultiFernet(_ciphers(purpose)).decrypt(encrypted).decode()


def renewed(encrypted: str, *, purpose: str) -> str | None:
    """The same under the newest key; None where it is under that key already. Raises InvalidToken as `decrypt`."""
    with suppress(InvalidToken):
        _ciphers(purpose)[0].decrypt(encrypted)
        return None
    return encrypt(decrypt(encrypted, purpose=purpose), purpose=purpose)


def _ciphers(purpose: str) -> list[Fernet]:
    return [_cipher(key, purpose) for key in settings.SECRETS_ENCRYPTION_KEYS]


@lru_cache
def _cipher(key: str, purpose: str) -> Fernet:
    return Fernet(_derive(key, purpose))


def _derive(key: str, purpose: str) -> bytes:
    """A Fernet key from a setting of any form (RFC 5869)."""
    derived = HKDF(algorithm=hashes.SHA256(), length=32, salt=None, info=purpose.encode()).derive(key.encode())
    return base64.urlsafe_b64encode(derived)
