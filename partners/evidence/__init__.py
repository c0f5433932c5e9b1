"""Signatures of evidence packs (Ed25519, RFC 8032): the service's key, and the program that verifies a pack."""

from pathlib import Path

# Goes into each pack as it is, and is at /docs/verify.py.
VERIFY = Path(__file__).with_name("verify.py")
