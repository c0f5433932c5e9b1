"""TOTP codes (RFC 6238: SHA-1, six digits, thirty seconds)."""

import base64
import hashlib
import hmac
import time

SECRET = "JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP"


def code(secret: str = SECRET, *, periods: int = 0) -> str:
    """Return the present code, or that of a later period."""
    counter = int(time.time()) // 30 + periods
    digest = hmac.digest(base64.b32decode(secret), counter.to_bytes(8), hashlib.sha1)
    offset = digest[-1] & 0x0F
    number = int.from_bytes(digest[offset : offset + 4]) & 0x7FFF_FFFF
    return f"{number % 1_000_000:06}"
