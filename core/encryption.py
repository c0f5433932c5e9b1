"""Encryption at rest under SECRETS_ENCRYPTION_KEYS (Fernet): the newest key encrypts, all of them decrypt.

Each purpose has derived keys of its own. And the public half of EVIDENCE_SIGNING_KEY (Ed25519, RFC 8032).
"""

import base64
import hashlib
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, NamedTuple

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from django.conf import settings
from django.db import transaction
from django.db.models import QuerySet

API_SECRETS = "partner-service api secrets"
WEBHOOK_SECRETS = "partner-service webhook secrets"
SECOND_FACTORS = "partner-service staff second factors"


def encrypt(text: str, *, purpose: str) -> str:
    """Encrypt under the newest key."""
    return _ciphers(purpose)[0].encrypt(text.encode()).decode()


def decrypt(encrypted: str, *, purpose: str) -> str:
    """Decrypt under any present key. Raises cryptography's InvalidToken."""
    return MultiFernet(_ciphers(purpose)).decrypt(encrypted).decode()


def _ciphers(purpose: str) -> list[Fernet]:
    return [_cipher(key, purpose) for key in settings.SECRETS_ENCRYPTION_KEYS]


@lru_cache
def _cipher(key: str, purpose: str) -> Fernet:
    # Settings may have any form: the Fernet key is derived from them (RFC 5869).
    derived = HKDF(algorithm=hashes.SHA256(), length=32, salt=None, info=purpose.encode()).derive(key.encode())
    return Fernet(base64.urlsafe_b64encode(derived))


class EncryptedColumn(NamedTuple):
    """A table that holds one encrypted text in each row. key: its name in `--json`. title: its name for people.

    label: names a row whose text cannot be decrypted; None if it does not matter. using: the alias of the owner's
    connection, where the serving role may not write; such rows never change otherwise.
    """

    key: str
    title: str
    purpose: str
    rows: Callable[[], QuerySet[Any]]
    read: Callable[[Any], str]
    write: Callable[[Any, str], object]
    label: Callable[[Any], str | None]
    using: Callable[[], str] | None = None


@dataclass
class Count:
    """The rows of a column: re-encrypted, already under the newest key, or under no present key."""

    renewed: int = 0
    current: int = 0
    unreadable: list[str] = field(default_factory=list)


def reencrypt(column: EncryptedColumn, *, batch_size: int, dry_run: bool) -> Count:
    """Re-encrypt the rows that are not under the newest key, in batches, safe while serving. dry_run: only count."""
    count, last_pk, ciphers = Count(), None, _ciphers(column.purpose)
    while True:
        with transaction.atomic(using=column.using and column.using()):
            rows = column.rows().order_by("pk")
            if last_pk is not None:
                rows = rows.filter(pk__gt=last_pk)
            if not dry_run and not column.using:
                # Requests and deliveries do not wait for this lock; revoking and rotating do.
                rows = rows.select_for_update(no_key=True, of=("self",))
            batch = list(rows[:batch_size])
            for row in batch:
                encrypted = column.read(row)
                with suppress(InvalidToken):
                    ciphers[0].decrypt(encrypted)
                    count.current += 1
                    continue
                try:
                    renewed = MultiFernet(ciphers).rotate(encrypted).decode()
                except InvalidToken:
                    if label := column.label(row):
                        count.unreadable.append(label)
                    continue
                count.renewed += 1
                if not dry_run:
                    column.write(row, renewed)
        if len(batch) < batch_size:
            return count
        last_pk = batch[-1].pk


def fingerprint(key: Ed25519PublicKey) -> str:
    """Return the SHA-256 of a public key, as `openssl pkey -pubin -in … -outform DER | sha256sum` prints it."""
    return hashlib.sha256(key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)).hexdigest()


def signing_key_id() -> str:
    """Return the first 16 hex digits of the fingerprint of the key that signs; empty if packs are unsigned."""
    key = settings.EVIDENCE_SIGNING_KEY
    return fingerprint(key.public_key())[:16] if key else ""


def pem(key: Ed25519PublicKey) -> str:
    """Return a public key in PEM."""
    return key.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).decode()


def published() -> str:
    """Return the public key in PEM with its SHA-256 before it, or a line that says that there is none."""
    key = settings.EVIDENCE_SIGNING_KEY
    if key is None:
        return "# Evidence packs of this service are not signed.\n"
    public = key.public_key()
    return f"# Verifies evidence packs of this service (Ed25519). SHA-256: {fingerprint(public)}\n{pem(public)}"
