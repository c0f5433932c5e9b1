"""What is wrong with a request by itself, without a canonical request to compare: the table of checks."""

import base64
import binascii
import json
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from email.utils import parsedate_to_datetime
from typing import NamedTuple

from partners.doctor import causes
from partners.doctor.causes import NOTE, TIMESTAMP, WARNING, Cause, Finding, Verdict, counted
from partners.doctor.mistakes import instant
from partners.doctor.request import LARGEST_BODY_BYTES, WRITES, PastedRequest, is_utf8

# As keys.issue makes it.
API_KEY = re.compile(r"psi_key_[A-Za-z0-9_\-]{43}")
_SIGNING_HEADERS = ("X-Api-Key", "X-Request-Timestamp", "X-Request-Signature", "Idempotency-Key")
_QUOTES = ('"', "'", "`", "“", "”")
_HEX_SHA256 = re.compile(r"[0-9a-fA-F]{64}")
_HEX = re.compile(r"[0-9a-fA-F]+")
_LABELLED = re.compile(r"(?:hmac[-_ ]?)?(?:sha[-_]?256|signature|v\d)\s*[=: ]\s*.+|0x.+", re.IGNORECASE)
_UNDERSCORED = re.compile(
    r"(?=.*_)(X[-_]Api[-_]Key|X[-_]Request[-_](Timestamp|Signature)|Idempotency_Key)", re.IGNORECASE
)
_UUID = re.compile(r"[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}")
_CHARSET = re.compile(r"\s*+charset\s*+=\s*+\"?([^\"\s]*+)\"?\s*+", re.IGNORECASE)
_NUMBER = re.compile(r"[0-9]{9,19}(?:\.[0-9]+)?")
_WITHOUT_ZONE = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?")
_FIT_FOR_A_TARGET = re.compile(r"[A-Za-z0-9\-._~!$&'()*+,;=:@/?%\[\]]*+")
_ENCODED_TWICE = re.compile(r"%25[0-9A-Fa-f]{2}")
_DOT_SEGMENT = re.compile(r"/\.{1,2}(?:/|$)")
# Time zones differ by quarters of an hour, at most by 14 hours.
_QUARTER_SECONDS, _FARTHEST_SECONDS, _NEAR_SECONDS = 15 * 60, 14 * 3600, 90


class Clock(NamedTuple):
    """The service's time, and how many seconds a timestamp may be off it."""

    now: datetime
    skew_seconds: int


@dataclass(frozen=True)
class Check(Cause):
    """A cause, and whether a request has it."""

    applies: Callable[[PastedRequest, Clock], Verdict] = lambda _request, _clock: False


def check(request: PastedRequest, clock: Clock) -> Iterator[Finding]:
    """Return what is wrong with a request: of each group of checks the first that applies."""
    for group in CHECKS:
        for one in group:
            if verdict := one.applies(request, clock):
                yield one.found(facts=verdict)
                break


def signature_in_hex(text: str) -> str | None:
    """Return the 64 hex digits that a signature holds, however it is written; None where it holds none."""
    found = _HEX_SHA256.search(text)
    return found[0].lower() if found else _from_base64(text)


def _from_base64(text: str) -> str | None:
    """The hex of a signature in Base64, of its bytes or of their hex."""
    try:
        decoded = base64.b64decode(text.replace("-", "+").replace("_", "/") + "=" * (-len(text) % 4), validate=True)
    except (binascii.Error, ValueError):
        return None
    if len(decoded) == 32:  # noqa: PLR2004 - bytes of a SHA-256
        return decoded.hex()
    return decoded.decode().lower() if decoded.isascii() and _HEX_SHA256.fullmatch(decoded.decode()) else None


def _is_quoted(value: str) -> bool:
    return value.startswith(_QUOTES) or value.endswith(_QUOTES)


def _is_date_header(text: str) -> bool:
    try:
        return text[:1].isalpha() and bool(parsedate_to_datetime(text))
    except (ValueError, OverflowError):
        return False


def _clock_skew(request: PastedRequest, clock: Clock, *, ahead: bool) -> Verdict:
    """How far the timestamp is ahead or behind, where that is more than allowed."""
    signed_at = instant(request.timestamp)
    seconds = 0 if signed_at is None else round((signed_at - clock.now).total_seconds())
    if abs(seconds) <= clock.skew_seconds or (seconds > 0) is not ahead:
        return False
    return {
        "seconds": abs(seconds),
        "off": f"{counted(abs(seconds), 'second')} {'ahead of' if ahead else 'behind'} the service's time",
        "allowed": counted(clock.skew_seconds, "second"),
    }


def _local_time(request: PastedRequest, clock: Clock) -> Verdict:
    skew = _clock_skew(request, clock, ahead=True) or _clock_skew(request, clock, ahead=False)
    if not isinstance(skew, dict):
        return False
    quarters, rest = divmod(skew["seconds"] + _NEAR_SECONDS, _QUARTER_SECONDS)
    if not 0 < quarters <= _FARTHEST_SECONDS / _QUARTER_SECONDS or rest > 2 * _NEAR_SECONDS:
        return False
    zones = counted(quarters / 4, "hour") if quarters >= 4 else counted(quarters * 15, "minute")  # noqa: PLR2004
    return {"zones": zones, **skew}


def _names(names: Iterable[str]) -> Verdict:
    """The names as a fact; False where there are none."""
    text = ", ".join(names)
    return {"names": text} if text else False


def _is_json_type(content_type: str) -> bool:
    media_type, *parameters = content_type.lower().split(";")
    charsets = [found[1] for parameter in parameters if (found := _CHARSET.fullmatch(parameter))]
    return media_type.strip() == "application/json" and {"utf-8", "utf8"}.issuperset(charsets)


def _is_json(body: bytes) -> bool:
    try:
        json.loads(body)
    except (ValueError, RecursionError):
        return False
    return True


_KEY_RULE = "An API key is psi_key_ and 43 letters, digits, - or _: 51 characters."
_SIGNATURE_RULE = "X-Request-Signature is the HMAC-SHA256 of the canonical request: 64 hex digits and nothing else."
_MEDIA_TYPE_RULE = "The service takes application/json in UTF-8 only (415); curl -d alone says that it sends a form."
_UTF8_RULE = "Its decoded bytes are not UTF-8, so it cannot be signed; the service answers bad_request."
_TWICE_RULE = "Two hex digits follow %25, an encoded percent sign, as if an escape had been encoded."
_SEND_64_DIGITS = "Write the bytes of the HMAC as 64 hex digits, and send nothing else in the header."
_SEND_JSON = "Send Content-Type: application/json."

# Of each group the first check that applies makes a finding.
# fmt: off
CHECKS: tuple[tuple[Check, ...], ...] = ((
    Check("api-key-missing", "X-Api-Key is missing", "Send your API key in the header X-Api-Key.", _KEY_RULE,
          applies=lambda r, _: not r.api_key),
    Check("api-key-quoted", "X-Api-Key is in quotation marks", "Send the key without them.", _KEY_RULE,
          applies=lambda r, _: _is_quoted(r.api_key)),
    Check("api-key-malformed", "X-Api-Key is no API key", "Copy the whole key; check for a space or a placeholder.",
          _KEY_RULE + " This value has {length}.",
          applies=lambda r, _: not API_KEY.fullmatch(r.api_key) and {"length": len(r.api_key)}),
), (
    Check("timestamp-missing", "X-Request-Timestamp is missing", line=TIMESTAMP, applies=lambda r, _: not r.timestamp),
    Check("timestamp-quoted", "X-Request-Timestamp is in quotation marks", "Send the time without them.",
          line=TIMESTAMP, applies=lambda r, _: _is_quoted(r.timestamp)),
    Check("timestamp-is-number", "X-Request-Timestamp is a number", line=TIMESTAMP,
          applies=lambda r, _: bool(_NUMBER.fullmatch(r.timestamp))),
    Check("timestamp-without-zone", "X-Request-Timestamp has no time zone", line=TIMESTAMP,
          applies=lambda r, _: bool(_WITHOUT_ZONE.fullmatch(r.timestamp))),
    Check("timestamp-with-space", "X-Request-Timestamp has a space for the T", line=TIMESTAMP,
          applies=lambda r, _: " " in r.timestamp and instant(r.timestamp.replace(" ", "T")) is not None),
    Check("timestamp-of-http", "X-Request-Timestamp is written like the header Date", line=TIMESTAMP,
          applies=lambda r, _: _is_date_header(r.timestamp)),
    Check("timestamp-malformed", "X-Request-Timestamp is not an RFC 3339 date-time", line=TIMESTAMP,
          applies=lambda r, _: instant(r.timestamp) is None),
    Check("local-time-as-utc", "Local time may have been sent as UTC",
          "Take the time in UTC, or write the zone's offset in place of Z.",
          "The timestamp is {off}, about {zones}, as if the clock of another time zone had been marked Z."
          " Ignore this if you did not send the request just now.",
          WARNING, TIMESTAMP, applies=_local_time),
    Check("clock-ahead", "The clock is ahead", "Set the machine's clock, best by NTP, and take the time when you sign.",
          "The timestamp is {off}; at most {allowed} are allowed.", line=TIMESTAMP,
          applies=lambda r, clock: _clock_skew(r, clock, ahead=True)),
    Check("clock-behind", "The request is old, or the clock is behind",
          "Set the machine's clock, best by NTP, and sign each request when it is sent, a retry too.",
          "The timestamp is {off} now; at most {allowed} are allowed. Ignore this if you did not send the request just"
          " now.",
          WARNING, TIMESTAMP, applies=lambda r, clock: _clock_skew(r, clock, ahead=False)),
), (
    Check("signature-missing", "X-Request-Signature is missing", "Sign the request.", _SIGNATURE_RULE,
          applies=lambda r, _: not r.signature),
    Check("signature-quoted", "The signature is in quotation marks", _SEND_64_DIGITS, _SIGNATURE_RULE,
          applies=lambda r, _: _is_quoted(r.signature)),
    Check("signature-labelled", "The signature has a label before it", _SEND_64_DIGITS, _SIGNATURE_RULE,
          applies=lambda r, _: bool(_LABELLED.fullmatch(r.signature))),
    Check("base64-instead-of-hex", "The signature is in Base64", _SEND_64_DIGITS, _SIGNATURE_RULE,
          applies=lambda r, _: _from_base64(r.signature) is not None),
    Check("signature-of-other-length", "The signature is cut, or made by another function than SHA-256",
          _SEND_64_DIGITS, _SIGNATURE_RULE + " This has {length}.",
          applies=lambda r, _: bool(_HEX.fullmatch(r.signature)) and len(r.signature) != 64  # noqa: PLR2004 - a SHA-256
          and {"length": len(r.signature)}),
    Check("signature-malformed", "The signature is not hex", _SEND_64_DIGITS, _SIGNATURE_RULE,
          applies=lambda r, _: not _HEX_SHA256.fullmatch(r.signature)),
), (
    Check("not-under-v1", "The path has no /v1", "Send the request to a path such as /v1/ping.", line=causes.PATH,
          applies=lambda r, _: not (r.path == "/v1" or r.path.startswith("/v1/"))),
    Check("path-prefix", "What precedes /v1 is not signed", "Nothing is to be done if you sign from /v1 on.",
          "{prefix} belongs to the base URL, and a proxy before the service has to remove it.", NOTE, causes.PATH,
          applies=lambda r, _: bool(r.prefix) and {"prefix": r.prefix}),
), (
    Check("path-not-utf8", "The path is not UTF-8", "Encode as UTF-8 before you percent-encode.", _UTF8_RULE,
          line=causes.PATH, applies=lambda r, _: not is_utf8(r.decoded_path)),
    Check("query-not-utf8", "The query is not UTF-8", "Encode as UTF-8 before you percent-encode.", _UTF8_RULE,
          line=causes.QUERY, applies=lambda r, _: not r.is_utf8),
    Check("target-not-encoded", "The URL holds characters that cannot be sent",
          "Percent-encode names and values before you put the URL together.",
          "A client encodes them, refuses them or cuts the URL there; here they are taken as UTF-8.", WARNING,
          applies=lambda r, _: not _FIT_FOR_A_TARGET.fullmatch(r.target)),
), (
    Check("path-sent-encoded-twice", "The path seems to be encoded twice",
          "Encode once, unless a percent sign belongs to the value.", _TWICE_RULE, WARNING, causes.PATH,
          applies=lambda r, _: bool(_ENCODED_TWICE.search(r.path))),
), (
    Check("query-sent-encoded-twice", "The query seems to be encoded twice",
          "Encode once, unless a percent sign belongs to the value.", _TWICE_RULE, WARNING, causes.QUERY,
          applies=lambda r, _: bool(_ENCODED_TWICE.search(r.query))),
), (
    Check("dot-segment", "The path holds . or .. by itself", "Sign the path that is sent; with curl, use --path-as-is.",
          "Many clients and proxies, curl among them, resolve such parts: another path arrives.", WARNING, causes.PATH,
          applies=lambda r, _: bool(_DOT_SEGMENT.search(r.path))),
), (
    Check("header-repeated", "A header was sent more than once", "Send each header once.",
          "Several headers of one name are joined by a comma: {names}.",
          applies=lambda r, _: _names(name for name in _SIGNING_HEADERS if len(r.values(name)) > 1)),
), (
    Check("header-not-ascii", "A header holds characters beyond ASCII",
          "Send visible ASCII characters; check for a hyphen or a space that a word processor has replaced.",
          "Such a value may arrive changed or empty: {names}.",
          applies=lambda r, _: _names(name for name in _SIGNING_HEADERS if not r.header(name).isascii())),
), (
    Check("header-underscore", "A header's name has _ for -", "Write the name with hyphens.",
          "Many proxies drop such headers, and the service may read them or not: {names}.", WARNING,
          applies=lambda r, _: _names(name for name, _ in r.headers if _UNDERSCORED.fullmatch(name))),
), (
    Check("idempotency-key-empty", "The Idempotency-Key is empty", "Send a UUID, or leave the header out.",
          "On a write an empty header is a bad_request; line 5 is empty either way.", WARNING, causes.IDEMPOTENCY_KEY,
          applies=lambda r, _: "" in r.values("Idempotency-Key")),
    Check("idempotency-key-not-uuid", "The Idempotency-Key is no UUID", level=WARNING, line=causes.IDEMPOTENCY_KEY,
          applies=lambda r, _: bool(r.idempotency_key) and not _UUID.fullmatch(r.idempotency_key)),
), (
    Check("content-type-missing", "There is no Content-Type", _SEND_JSON, _MEDIA_TYPE_RULE, WARNING,
          applies=lambda r, _: r.method in WRITES and not r.header("Content-Type")),
    Check("content-type-other", "The Content-Type is not JSON in UTF-8", _SEND_JSON, _MEDIA_TYPE_RULE, WARNING,
          applies=lambda r, _: r.method in WRITES and not _is_json_type(r.header("Content-Type"))),
), (
    Check("body-without-write", "A body is sent with a method that takes none", "Send no body, and hash no bytes.",
          "It is signed as it arrives, but many clients and proxies drop it with such a method.", WARNING, causes.BODY,
          applies=lambda r, _: bool(r.body) and r.method not in WRITES),
    Check("body-too-large", "The body is too large", "Send less.",
          "It has more than 64 KiB, and is refused before the signature is checked.", line=causes.BODY,
          applies=lambda r, _: len(r.body) > LARGEST_BODY_BYTES),
    Check("body-byte-order-mark", "The body begins with a byte order mark", "Write the body as UTF-8 without a mark.",
          "Its bytes, EF BB BF, are hashed with the body, and JSON may not begin with them.", WARNING, causes.BODY,
          applies=lambda r, _: r.body.startswith(b"\xef\xbb\xbf")),
    Check("body-not-json", "The body is no JSON", "Paste the body exactly as it was sent.",
          "A write needs a JSON object; what was pasted may have lost or gained characters.", WARNING, causes.BODY,
          applies=lambda r, _: r.method in WRITES and not _is_json(r.body)),
    Check("body-ends-with-line-feed", "The body ends with a line feed", "Remove it if you did not send it.",
          "It is hashed like every other byte; perhaps it only came with pasting.", NOTE, causes.BODY,
          applies=lambda r, _: r.body.endswith(b"\n")),
))
# fmt: on
