"""Problems of a request by itself, without a canonical request to compare."""

import base64
import binascii
import json
import re
from collections.abc import Iterator
from datetime import datetime
from email.utils import parsedate_to_datetime

from partners.signing.causes import Finding, Verdicts, counted, finding, first_finding
from partners.signing.mistakes import instant
from partners.signing.request import MAX_BODY_BYTES, WRITES, PastedRequest, is_utf8
from partners.uuids import is_uuid

# keys.issue makes keys of this form.
API_KEY = re.compile(r"psi_(?:test_)?key_[A-Za-z0-9_\-]{43}")
_SIGNING_HEADERS = ("X-Api-Key", "X-Request-Timestamp", "X-Request-Signature", "Idempotency-Key")
_QUOTES = ('"', "'", "`", "“", "”")
_HEX_DIGITS = 64
_HEX_SHA256 = re.compile(r"[0-9a-fA-F]{64}")
_HEX = re.compile(r"[0-9a-fA-F]+")
_LABELLED = re.compile(r"(?:hmac[-_ ]?)?(?:sha[-_]?256|signature|v\d)\s*[=: ]\s*.+|0x.+", re.IGNORECASE)
_UNDERSCORED = re.compile(
    r"(?=.*_)(X[-_]Api[-_]Key|X[-_]Request[-_](Timestamp|Signature)|Idempotency_Key)", re.IGNORECASE
)
_CHARSET = re.compile(r"\s*+charset\s*+=\s*+\"?([^\"\s]*+)\"?\s*+", re.IGNORECASE)
_NUMBER = re.compile(r"[0-9]{9,19}(?:\.[0-9]+)?")
_WITHOUT_ZONE = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?")
_TARGET = re.compile(r"[A-Za-z0-9\-._~!$&'()*+,;=:@/?%\[\]]*+")
_ENCODED_TWICE = re.compile(r"%25[0-9A-Fa-f]{2}")
_DOT_SEGMENT = re.compile(r"/\.{1,2}(?:/|$)")
_IF_SENT_NOW = "Ignore this if you sent the request earlier."
# Time zones differ by quarters of an hour, at most by 14 hours.
_QUARTER_SECONDS, _FARTHEST_SECONDS, _NEAR_SECONDS = 15 * 60, 14 * 3600, 90


def check(request: PastedRequest, *, now: datetime, clock_skew_seconds: int) -> Iterator[Finding]:
    """Yield the problems of a request: of each group of verdicts the first one that applies."""
    groups = (
        _api_key(request.api_key),
        timestamp_verdicts(request.timestamp),
        clock_verdicts(request.timestamp, now, clock_skew_seconds),
        signature_verdicts(request.signature),
        *_target(request),
        *_headers(request),
        _content_type(request),
        _body(request),
    )
    return filter(None, map(first_finding, groups))


def _api_key(key: str) -> Verdicts:
    return {
        "api-key-missing": not key,
        "api-key-quoted": _is_quoted(key),
        "api-key-malformed": not API_KEY.fullmatch(key) and _of_length("api-key-malformed", key),
    }


def _of_length(code: str, value: str) -> str:
    return f"{finding(code)['explanation']} This one has {len(value)}."


def _is_quoted(value: str) -> bool:
    return value.startswith(_QUOTES) or value.endswith(_QUOTES)


def timestamp_verdicts(text: str) -> Verdicts:
    """Return what is wrong with X-Request-Timestamp by itself."""
    return {
        "timestamp-missing": not text,
        "timestamp-quoted": _is_quoted(text),
        "timestamp-is-number": _NUMBER.fullmatch(text),
        "timestamp-without-zone": _WITHOUT_ZONE.fullmatch(text),
        "timestamp-with-space": " " in text and instant(text.replace(" ", "T")) is not None,
        "timestamp-of-http": _is_date_header(text),
        "timestamp-malformed": instant(text) is None,
    }


def _is_date_header(text: str) -> bool:
    try:
        return text[:1].isalpha() and bool(parsedate_to_datetime(text))
    except (ValueError, OverflowError):
        return False


def clock_verdicts(timestamp: str, now: datetime, skew_seconds: int, *, is_sent_now: bool = False) -> Verdicts:
    """Return what the distance from the service's time says. is_sent_now: whether the request was sent just now."""
    signed_at = instant(timestamp)
    seconds = 0 if signed_at is None else round((signed_at - now).total_seconds())
    if abs(seconds) <= skew_seconds:
        return {}
    direction = "ahead of" if seconds > 0 else "behind"
    off = f"The timestamp is {counted(abs(seconds), 'second')} {direction} the service's time"
    quarters, rest = divmod(abs(seconds) + _NEAR_SECONDS, _QUARTER_SECONDS)
    is_zone = 0 < quarters <= _FARTHEST_SECONDS / _QUARTER_SECONDS and rest <= 2 * _NEAR_SECONDS
    zones = counted(quarters * 15, "minute") if quarters < 4 else counted(quarters / 4, "hour")  # noqa: PLR2004
    allowed = f"{off}; at most {counted(skew_seconds, 'second')} are allowed."
    like_local_time = f"{off}, about {zones}, like local time."
    if_earlier = "" if is_sent_now else f" {_IF_SENT_NOW}"
    # A timestamp ahead is no matter of when the request was sent.
    return {
        "local-time-ahead": seconds > 0 and is_zone and like_local_time,
        "clock-ahead": seconds > 0 and allowed,
        "local-time-as-utc": is_zone and f"{like_local_time}{if_earlier}",
        "clock-behind": f"{allowed}{if_earlier}",
    }


def signature_verdicts(text: str) -> Verdicts:
    """Return what is wrong with the form of X-Request-Signature."""
    return {
        "signature-missing": not text,
        "signature-quoted": _is_quoted(text),
        "signature-labelled": _LABELLED.fullmatch(text),
        "base64-instead-of-hex": _base64_to_hex(text) is not None,
        "signature-of-other-length": _HEX.fullmatch(text)
        and len(text) != _HEX_DIGITS
        and _of_length("signature-of-other-length", text),
        "signature-malformed": not _HEX_SHA256.fullmatch(text),
    }


def signature_in_hex(text: str) -> str | None:
    """Return the 64 hex digits of a signature, however it is written; None if it has none."""
    digits = _HEX_SHA256.search(text)
    return digits[0].lower() if digits else _base64_to_hex(text)


def _base64_to_hex(text: str) -> str | None:
    """Decode the Base64 of a signature's bytes, or of its hex digits."""
    try:
        decoded = base64.b64decode(text.replace("-", "+").replace("_", "/") + "=" * (-len(text) % 4), validate=True)
    except (binascii.Error, ValueError):
        return None
    if len(decoded) == _HEX_DIGITS // 2:
        return decoded.hex()
    return decoded.decode().lower() if decoded.isascii() and _HEX_SHA256.fullmatch(decoded.decode()) else None


def _target(request: PastedRequest) -> Iterator[Verdicts]:
    path, path_is_utf8 = request.path, is_utf8(request.decoded_path)
    belongs = f"{request.prefix} belongs to the base URL, and a proxy before the service has to remove it."
    yield {
        "not-under-v1": path != "/v1" and not path.startswith("/v1/"),
        "path-prefix": request.prefix and belongs,
    }
    yield {"path-not-utf8": not path_is_utf8, "query-not-utf8": not request.is_utf8}
    yield {"target-not-encoded": request.is_utf8 and not _TARGET.fullmatch(request.target)}
    yield {"path-sent-encoded-twice": _ENCODED_TWICE.search(path)}
    yield {"query-sent-encoded-twice": _ENCODED_TWICE.search(request.query)}
    yield {"dot-segment": _DOT_SEGMENT.search(path)}


def _headers(request: PastedRequest) -> Iterator[Verdicts]:
    repeated = ", ".join(name for name in _SIGNING_HEADERS if len(request.values(name)) > 1)
    not_ascii = ", ".join(name for name in _SIGNING_HEADERS if not request.header(name).isascii())
    underscored = ", ".join(name for name, _ in request.headers if _UNDERSCORED.fullmatch(name))
    yield {"header-repeated": repeated and f"The values are joined by a comma: {repeated}."}
    yield {"header-not-ascii": not_ascii and f"They may arrive changed or empty: {not_ascii}."}
    yield {"header-underscore": underscored and f"The service may not read {underscored}."}
    yield {
        "idempotency-key-empty": "" in request.values("Idempotency-Key"),
        "idempotency-key-not-uuid": request.idempotency_key and not is_uuid(request.idempotency_key),
    }


def _content_type(request: PastedRequest) -> Verdicts:
    content_type, is_write = request.header("Content-Type").lower(), request.method in WRITES
    media_type, *parameters = content_type.split(";")
    charsets = [match[1] for parameter in parameters if (match := _CHARSET.fullmatch(parameter))]
    is_json = media_type.strip() == "application/json" and {"utf-8", "utf8"}.issuperset(charsets)
    return {
        "content-type-missing": is_write and not content_type,
        "content-type-other": is_write and not is_json,
    }


def _body(request: PastedRequest) -> Verdicts:
    body, is_write = request.body, request.method in WRITES
    return {
        "body-without-write": body and not is_write,
        "body-too-large": len(body) > MAX_BODY_BYTES,
        "body-byte-order-mark": body.startswith(b"\xef\xbb\xbf"),
        "body-missing": is_write and not body,
        "body-not-json": is_write and not _is_json(body),
        "body-ends-with-line-feed": body.endswith(b"\n"),
    }


def _is_json(body: bytes) -> bool:
    try:
        json.loads(body)
    except (ValueError, RecursionError):
        return False
    return True
