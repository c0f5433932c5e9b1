"""The key that signs evidence packs (EVIDENCE_SIGNING_KEY) and its public half."""

import hashlib

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from django.conf import settings

_UNSIGNED = "# Evidence packs of this service are not signed.\n"


def signing_key() -> Ed25519PrivateKey | None:
    """Return the key that signs, if there is one."""
    key: Ed25519PrivateKey | None = settings.EVIDENCE_SIGNING_KEY
    return key


def key_id(key: Ed25519PublicKey) -> str:
    """Return the id of a public key: the first 16 hex digits of the SHA-256 of its 32 bytes."""
    return hashlib.sha256(key.public_bytes(Encoding.Raw, PublicFormat.Raw)).hexdigest()[:16]


def published() -> str:
    """Return the public key in PEM with its id before it, or a line that says that there is none."""
    key = signing_key()
    if key is None:
        return _UNSIGNED
    public = key.public_key()
    pem = public.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).decode()
    return f"# Verifies evidence packs of this service (Ed25519). Key ID: {key_id(public)}\n{pem}"
