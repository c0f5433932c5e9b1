"""Why a signature was refused, for a sandbox partner: contract, section 11.

The text that was signed is searched for: each line of the canonical request with its usual mistakes, the usual layouts
of the lines, the usual forms of the secret. MAX_TEXTS, MAX_BYTES and the limits of each line bound the work. Neither
the secret nor the right signature is in the result.
"""

import base64
import hmac
import re
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from hashlib import sha256
from itertools import chain, islice

from django.conf import settings

from core.formats.rfc_3339 import parse_timestamp
from partners.authentication.signature_authentication import AuthenticationFailure, SignatureRefusedError, SignedRequest
from partners.authentication.wrong_lines import LINES, Mistake, wrong_lines
from partners.models import SECRET_PREFIXES, Mode

# How many texts are signed, and their bytes in total.
MAX_TEXTS, MAX_BYTES = 1_500, 500_000
# Nothing is searched for if path, query and headers are longer.
MAX_HEAD = 4096

_KNOWN = {
    AuthenticationFailure.MISSING_HEADER: "headerMissing",
    AuthenticationFailure.MALFORMED_TIMESTAMP: "timestampFormat",
    AuthenticationFailure.CLOCK_SKEW: "clockSkew",
    AuthenticationFailure.REPLAY: "reused",
}
# What is right, by the cause.
RULES = {
    "timestampFormat": "Send the time in UTC such as 2026-01-15T10:30:00Z, and sign the same text.",
    "clockSkew": "Use UTC or write the offset, synchronise the clock, and sign each attempt when you send it.",
    "signatureFormat": "Send the HMAC-SHA256 as 64 hex digits and nothing else, such as hexdigest() writes.",
    "secret": "Use the secret that was issued with this API key, as issued.",
    "method": "Line 1 is the method in upper case.",
    "path": "Line 2 is the path from /v1 on: decode it, then percent-encode every byte but A-Z a-z 0-9 - . _ ~ / with"
    " upper-case hex digits.",
    "query": "Line 3 has the names and values of the query: decode them (+ is a space), percent-encode every byte but"
    " A-Z a-z 0-9 - . _ ~ with upper-case hex digits, sort the pairs by name and value, join them as name=value by &.",
    "timestamp": "Line 4 is X-Request-Timestamp exactly as sent: read the clock once, and use one text for both.",
    "idempotencyKey": "Line 5 is the Idempotency-Key exactly as sent, and empty if there is none.",
    "body": "Line 6 is the SHA-256 in lower-case hex of the bytes that are sent: serialise the body once.",
    "lineBreaks": "Join the six lines by one line feed each, the empty ones too, with nothing before or after.",
    "lineOrder": f"The six lines are {', '.join(LINES)}.",
}
CAUSES = {*_KNOWN.values(), *RULES, "unknown"}
_NO_BODY = "The request has no body. Look for a redirect or a library that drops it, and send the bytes that you hash."
_NOT_FOUND = (
    "The signature fits none of the likely mistakes under this key's secret: it was made with another secret, such as a"
    " live one (a test secret begins with psi_test_secret_), or for another text. Compare canonicalRequest, byte for"
    " byte, with the text that your program signed."
)
# Makes the bytes of a signature of a text.
_Signer = Callable[[bytes], bytes]


def explain(request: SignedRequest, refusal: SignatureRefusedError, secret: str) -> tuple[str, str]:
    """The cause of a refusal, and what to do in words. secret: of the request's key. Raises NotUtf8Error."""
    timestamp, signature = (request.header(f"HTTP_X_REQUEST_{name}") or "" for name in ("TIMESTAMP", "SIGNATURE"))
    known, title = _KNOWN.get(refusal.failure), ""
    if known == "timestampFormat":
        title = _form(timestamp[:MAX_HEAD], _TIMESTAMP_FORMS)
    elif known == "clockSkew":
        title = _clock_skew(timestamp)
    if known:
        return known, f"{title}. {RULES[known]}" if title else refusal.message
    headers = (request.header(f"HTTP_{name}") or "" for name in ("HOST", "X_API_KEY", "IDEMPOTENCY_KEY"))
    if sum(map(len, (request.path_bytes, request.query_bytes, timestamp, signature, *headers))) > MAX_HEAD:
        return "unknown", _NOT_FOUND
    if title := _form(signature, _SIGNATURE_FORMS):
        return "signatureFormat", f"{title}. {RULES['signatureFormat']}"
    return _search(request, timestamp, secret, bytes.fromhex(signature))


_Forms = tuple[tuple[str, str], ...]
_QUOTED = r"""(?s:["'`“”].*|.*["'`“”])"""
# The first that matches is the title. A signature of the right form matches none.
_SIGNATURE_FORMS: _Forms = (
    ("The signature is in quotation marks", _QUOTED),
    ("The signature has a label before it", r"(?i:(hmac[-_ ]?)?(sha[-_]?256|signature|v\d)\s*[=: ].+|0x.+)"),
    ("The signature is Base64", r"[A-Za-z0-9+/_\-]{43}=?|[A-Za-z0-9+/_\-]{86}(==)?"),
    ("The signature is truncated, or of another hash function", r"(?!.{64}\Z)[0-9a-fA-F]+"),
    ("The signature is not hex", r"(?![0-9a-fA-F]{64}\Z)(?s:.*)"),
)
_TIMESTAMP_FORMS: _Forms = (
    ("X-Request-Timestamp is in quotation marks", _QUOTED),
    ("X-Request-Timestamp is a number", r"[0-9]{9,19}(\.[0-9]+)?"),
    ("X-Request-Timestamp has no time zone", r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d([.,]\d+)?)?"),
    ("X-Request-Timestamp has a space instead of T", r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)"),
    ("X-Request-Timestamp has the format of the Date header", r"[A-Z][a-z]{2,8}, .*"),
    ("X-Request-Timestamp is not an RFC 3339 date-time", r"(?s:.*)"),
)
# Time zones differ by quarters of an hour, at most by 14 hours. A clock may be wrong by some seconds as well.
_QUARTER_SECONDS, _MAX_QUARTERS, _NEAR_SECONDS = 15 * 60, 14 * 4, 90


def _form(text: str, forms: _Forms) -> str:
    return next((title for title, form in forms if re.fullmatch(form, text)), "")


def _clock_skew(timestamp: str) -> str:
    seconds = round((parse_timestamp(timestamp) - datetime.now(UTC)).total_seconds())
    skew = f"The timestamp is {abs(seconds):,} seconds {'ahead of' if seconds > 0 else 'behind'} the service's time"
    quarters, rest = divmod(abs(seconds) + _NEAR_SECONDS, _QUARTER_SECONDS)
    if 0 < quarters <= _MAX_QUARTERS and rest <= 2 * _NEAR_SECONDS:
        return f"{skew}, about {quarters / 4:g} hours, like local time"
    return f"{skew}; at most {settings.CLOCK_SKEW_SECONDS:,} seconds are allowed"


def _search(request: SignedRequest, timestamp: str, secret: str, signature: bytes) -> tuple[str, str]:
    """Find the text that the signature was made for, and how it was made. Raises NotUtf8Error."""
    lines, left = request.canonical_request(timestamp).split("\n"), MAX_BYTES
    for how, sign, (cause, title, text) in islice(_attempts(request, lines, secret), MAX_TEXTS):
        signed = text.encode(errors="replace")
        left -= len(signed)
        if left < 0:
            break
        if hmac.compare_digest(sign(signed), signature):
            of_text = f"{title}. {RULES[cause]}" if title else ""
            if how:
                return "secret", f"The signature was made with {how}. {RULES['secret']} {of_text}".rstrip()
            return cause, of_text
    if request.method in {"POST", "PATCH"} and not request.body_bytes:
        return "body", _NO_BODY
    return "unknown", _NOT_FOUND


def _attempts(request: SignedRequest, lines: list[str], secret: str) -> Iterator[tuple[str, _Signer, Mistake]]:
    """Yield how to sign ("" as the contract has it) and what, the likeliest first."""
    right = ("secret", "", "\n".join(lines))
    right_way = _hmac(secret.encode())
    wrong_ways = list(_wrong_ways(secret, request.header("HTTP_X_API_KEY") or ""))
    yield from ((how, sign, right) for how, sign in wrong_ways)
    layouts = list(_wrong_layouts(lines))
    seen = {right[2]}
    for mistake in chain(layouts, wrong_lines(request, lines), _left_out(lines)):
        if mistake[2] not in seen:
            seen.add(mistake[2])
            yield "", right_way, mistake
    yield from ((how, sign, layout) for how, sign in wrong_ways for layout in layouts)


# What files and editors leave around a secret, a byte order mark included.
_SURROUNDINGS = ("{}\n", "{}\r", "{}\r\n", "{} ", " {}", " {} ", "{}\t", "\t{}", "'{}'", '"{}"')
_MARKED = ("\ufeff{}", "\ufeff{}\n", "\ufeff{}\r\n")


def _wrong_ways(secret: str, api_key: str) -> Iterator[tuple[str, _Signer]]:
    bare = secret.removeprefix(SECRET_PREFIXES[Mode.SANDBOX])
    yield "an empty secret", _hmac(b"")
    yield "the API key in place of the secret", _hmac(api_key.encode())
    yield "no secret: it is a plain SHA-256", lambda text: sha256(text).digest()
    yield "the secret without its prefix", _hmac(bare.encode())
    yield "the secret decoded from Base64", _hmac(base64.urlsafe_b64decode(bare + "=" * (-len(bare) % 4)))
    for form in (*_SURROUNDINGS, *_MARKED):
        yield f"characters around the secret: {form.format('…')!r}", _hmac(form.format(secret).encode())
    yield "a plain SHA-256 of secret and text, not the HMAC", lambda text: sha256(secret.encode() + text).digest()
    yield "a plain SHA-256 of text and secret, not the HMAC", lambda text: sha256(text + secret.encode()).digest()


def _hmac(key: bytes) -> _Signer:
    return lambda text: hmac.digest(key, text, "sha256")


# Orders that people use, as indices of the right lines.
_ORDERS = ((3, 0, 1, 2, 4, 5), (0, 1, 2, 4, 3, 5), (0, 1, 3, 4, 2, 5), (0, 1, 2, 5, 3, 4), (3, 4, 0, 1, 2, 5))


def _wrong_layouts(lines: Sequence[str]) -> Iterator[Mistake]:
    for separator in ("\\n", "\r\n", "", " ", "|", ":", ",", ";", "&", "\r"):
        yield ("lineBreaks", f"The lines are joined by {separator!r}, not by '\\n'", separator.join(lines))
    for ending in ("\n", "\r\n"):
        yield ("lineBreaks", f"The last line ends with {ending!r}", ending.join((*lines, "")))
    yield ("lineBreaks", "The text begins with a byte order mark", "\ufeff" + "\n".join(lines))
    yield ("lineBreaks", "An empty line is missing", "\n".join(filter(None, lines)))
    for index, line in enumerate(lines):
        if not line:
            yield ("lineBreaks", "An empty line is missing", _without(lines, index))
    for order in _ORDERS:
        yield ("lineOrder", "The lines are in another order", "\n".join(lines[index] for index in order))


def _left_out(lines: Sequence[str]) -> Iterator[Mistake]:
    """Yield the text without each line, also without the empty ones."""
    for index, name in enumerate(LINES):
        if lines[index]:
            text = _without(lines, index)
            for one in (text, "\n".join(filter(None, text.split("\n")))):
                yield (name, f"Line {index + 1} is missing: {name}", one)


def _without(lines: Sequence[str], index: int) -> str:
    return "\n".join((*lines[:index], *lines[index + 1 :]))
