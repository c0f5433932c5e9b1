"""The key that signs evidence packs (EVIDENCE_SIGNING_KEY; Ed25519, RFC 8032) and its public half."""

import hashlib

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from django.conf import settings


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
