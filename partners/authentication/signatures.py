"""The canonical request and its signature: contract, section 3.

Functions on bytes and text, without Django: a client can use this file unchanged.

    timestamp = "2026-01-15T10:30:00Z"
    canonical = canonical_request("GET", b"/v1/ping", b"", timestamp, "", b"")
    headers = {"X-Request-Timestamp": timestamp, "X-Request-Signature": sign(secret, canonical)}
"""

import hashlib
import hmac
import re
from functools import lru_cache
from urllib.parse import quote, quote_from_bytes, unquote_to_bytes

_HEX_SHA256 = re.compile(r"[0-9a-fA-F]{64}", re.ASCII)
# Secrets whose HMAC state `verify` caches.
CACHE_SIZE = 1024


class NotUtf8Error(ValueError):
    """The percent-decoded path or query is not UTF-8. part: which of them."""

    def __init__(self, part: str) -> None:
        super().__init__(f"The {part}, percent-decoded, is not UTF-8.")


def query_pairs(query: bytes) -> list[tuple[str, str]]:
    """The decoded names and values of a raw query string, in the order sent. Raises NotUtf8Error."""
    pairs = []
    for piece in query.split(b"&"):
        if piece:
            name, _, value = piece.replace(b"+", b" ").partition(b"=")
            pairs.append((_utf8(unquote_to_bytes(name), "query"), _utf8(unquote_to_bytes(value), "query")))
    return pairs


def _utf8(text: bytes, part: str) -> str:
    try:
        return text.decode()
    except UnicodeDecodeError:
        raise NotUtf8Error(part) from None


def canonical_path(decoded: bytes) -> str:
    """Line 2 of the canonical request. decoded: the path, percent-decoded, as in PATH_INFO. Raises NotUtf8Error."""
    _utf8(decoded, "path")
    return quote_from_bytes(decoded, safe="/")


def canonical_query(query: bytes) -> str:
    """Line 3 of the canonical request. query: raw, without the question mark. Raises NotUtf8Error."""
    if not query:
        return ""
    encoded = sorted((quote(name, safe=""), quote(value, safe="")) for name, value in query_pairs(query))
    return "&".join(f"{name}={value}" for name, value in encoded)


def body_digest(body: bytes) -> str:
    """Line 6 of the canonical request: SHA-256 in lower-case hex."""
    return hashlib.sha256(body).hexdigest()


def canonical_request(
    method: str, decoded_path: bytes, query: bytes, timestamp: str, idempotency_key: str, body: bytes
) -> str:
    """The six lines that are signed.

    method: in upper case. decoded_path: percent-decoded. query: raw. timestamp, idempotency_key: the headers exactly
    as sent; "" without a key. Raises NotUtf8Error.
    """
    path, parameters = canonical_path(decoded_path), canonical_query(query)
    return "\n".join((method, path, parameters, timestamp, idempotency_key, body_digest(body)))


def sign(secret: str, canonical: str) -> str:
    """The HMAC-SHA256 of the canonical request in lower-case hex. secret: as issued."""
    return hmac.new(secret.encode(), canonical.encode(), hashlib.sha256).hexdigest()


def verify(secret: str, canonical: str, signature: str) -> bool:
    """Whether `signature`, hex in either case, is right; compares in constant time."""
    expected = _keyed(secret).copy()
    expected.update(canonical.encode())
    return hmac.compare_digest(expected.digest(), signature_bytes(signature))


@lru_cache(maxsize=CACHE_SIZE)
def _keyed(secret: str) -> hmac.HMAC:
    """The HMAC under a secret before any text: setting it up costs more than the rest."""
    return hmac.new(secret.encode(), digestmod=hashlib.sha256)


def signature_bytes(signature: str) -> bytes:
    """The 32 bytes of a hex signature; zeros, which match no request, if it is malformed."""
    return bytes.fromhex(signature) if _HEX_SHA256.fullmatch(signature) else bytes(32)
