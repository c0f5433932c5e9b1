"""Mistakes in one line of the canonical request: what the line becomes when a program makes them.

A line that differs is due to the first mistake that gives exactly this line.
"""

import base64
import hashlib
import json
import re
from collections.abc import Callable, Container, Iterable, Iterator
from datetime import UTC, datetime, timedelta, timezone
from email.utils import format_datetime
from functools import partial
from typing import Any, NamedTuple
from urllib.parse import quote, quote_plus, unquote, unquote_to_bytes

from partners.rfc_3339 import parse_timestamp
from partners.signing import signatures
from partners.signing.causes import LINES, PATH, QUERY, Finding, Verdicts, counted, finding, first_finding
from partners.signing.request import MAX_BODY_BYTES, PastedRequest

# What common functions leave unencoded: encodeURIComponent, RFC 3986 within a path, Java's URLEncoder.
_LEFT_UNENCODED = ("!'()*", "!$&'()*+,;=:@", "*")
_OTHER_ENCODERS: tuple[Callable[[str], str], ...] = (
    *(partial(quote, safe=left) for left in _LEFT_UNENCODED),
    *(partial(quote_plus, safe=left) for left in _LEFT_UNENCODED),
    *(partial(quote, safe=f"{left}/?") for left in _LEFT_UNENCODED),
    lambda text: quote_plus(text).replace("~", "%7E"),
    lambda text: quote(text, safe="").replace("~", "%7E"),
)
_METHODS = ("GET", "POST", "PATCH", "PUT", "DELETE")
_NULLS = ("null", "None", "undefined", "nil", "-")
_BODY_PLACEHOLDERS = (b"{}", b"null", b'""', b"undefined", b"None", b"[]", b" ", b"\n")
_ENCODINGS = ("utf-8-sig", "latin-1", "cp1252", "utf-16-le", "utf-16-be", "utf-16")
# No larger JSON is serialised again, and none with more brackets: indenting costs the product of size and depth.
_MAX_JSON_BYTES = 8 * 1024
_MAX_BRACKETS = 100
# From here on JavaScript writes a number with an exponent.
_EXPONENT_FROM = 1e21
# Needless escapes are not tried in a longer segment of a path.
_MAX_PIECES = 64
_GO_ESCAPES = {ord(character): f"\\u{ord(character):04x}" for character in "<>&\u2028\u2029"}
_OTHER_HASHES = ("sha1", "md5", "sha512", "sha384", "sha224", "sha3_256")
_INVISIBLE = re.compile("[\u00ad\u200b-\u200f\u2028-\u202e\u2060\ufeff\x00-\x08\x0b-\x1f\x7f]")
_SPACES = re.compile("[\u00a0\u2007\u202f\u3000]")
_LABEL = re.compile(r"\A[A-Za-z][A-Za-z0-9 _\-]{0,40}[:=]\s*")

# What surrounds or hides in the right text of any line, by the cause; each function removes it.
SURROUNDINGS: dict[str, Callable[[str], str]] = {
    "spaces-around-line": str.strip,
    "line-in-quotes": lambda line: line[1:-1] if line[:1] in "\"'`" and line[:1] == line[-1:] else line,
    "line-with-label": lambda line: _LABEL.sub("", line),
    "invisible-character": lambda line: _INVISIBLE.sub("", _SPACES.sub(" ", line)).strip(),
}


class WrongLine(NamedTuple):
    """A mistake in one line. line: its index. forms: what the line becomes, likeliest first, never the right one."""

    line: int
    cause: str
    forms: list[str]


def wrong_lines(request: PastedRequest, lines: Container[int] = range(len(LINES))) -> list[WrongLine]:
    """Return the mistakes that change a line of this request; a form of several mistakes belongs to the first.

    lines: the indices of those to look at.
    """
    # A request that is not UTF-8 cannot be signed at all.
    if not request.is_utf8:
        return []
    wrong = []
    for index, mistakes in enumerate((_method, _path, _query, _timestamp, _idempotency_key, _body)):
        if index not in lines:
            continue
        seen = {request.canonical_lines[index]}
        for cause, forms in mistakes(request):
            unique = dict.fromkeys(forms)
            wrong.append(WrongLine(index, cause, [form for form in unique if form not in seen and "\n" not in form]))
            seen.update(unique)
    return wrong


def line_finding(request: PastedRequest, wrong: list[WrongLine], index: int, line: str) -> Finding:
    """Return the cause of a line that differs."""
    for cause, remove in SURROUNDINGS.items():
        if remove(line) == request.canonical_lines[index]:
            return finding(cause, line=LINES[index])
    exact = next((one.cause for one in wrong if one.line == index and line in one.forms), None)
    return finding(exact) if exact else _inexact(request, index, line)


def _inexact(request: PastedRequest, index: int, line: str) -> Finding:
    """Return the cause of a line that is none of the listed forms."""
    key, sent, signed = request.idempotency_key, instant(request.timestamp), instant(line)
    verdicts: tuple[Verdicts, ...] = (
        {"method-differs": True},
        {
            "query-in-path": "?" in line and line.partition("?")[0] in {request.canonical_lines[PATH], request.path},
            "url-instead-of-path": re.match(r"[A-Za-z][A-Za-z0-9+.\-]*://", line),
            "path-differs": True,
        },
        {"query-differs": True},
        {
            "timestamp-reformatted": sent and signed and sent.replace(microsecond=0) == signed.replace(microsecond=0),
            "timestamp-signed-as-number": re.fullmatch(r"\d{9,19}(?:\.\d+)?", line, re.ASCII),
            "timestamp-of-another-moment": sent and signed and _time_between(sent, signed),
            "timestamp-differs": True,
        },
        {
            "idempotency-key-not-sent": not key and line.strip() != "",
            "idempotency-key-reformatted": re.sub("urn:uuid:|[{}-]", "", line.lower()) == key.replace("-", "").lower(),
            "idempotency-key-differs": True,
        },
        {
            "body-itself": request.body_text and line.split() == request.body_text.split(),
            "body-digest-malformed": not re.fullmatch(r"[0-9a-fA-F]{64}", line),
            "body-differs": True,
        },
    )
    found = first_finding(verdicts[index])
    assert found is not None  # noqa: S101 - the last verdict of each line is True
    return found


def instant(text: str) -> datetime | None:
    """Return the instant of a timestamp; None if it is malformed."""
    try:
        return parse_timestamp(text)
    except ValueError:
        return None


def _time_between(sent: datetime, signed: datetime) -> str:
    seconds = (signed - sent).total_seconds()
    offset = f"{counted(abs(seconds), 'second')} {'later' if seconds > 0 else 'earlier'}"
    return f"Line 4 is {offset} than X-Request-Timestamp, as if the clock had been read twice."


_Mistakes = Iterator[tuple[str, Iterable[str]]]


def _method(request: PastedRequest) -> _Mistakes:
    yield "method-not-upper-case", [request.method.lower(), request.method.capitalize()]
    yield "method-differs", _METHODS


def _path(request: PastedRequest) -> _Mistakes:
    sent, right, decoded = request.path, request.canonical_lines[PATH], request.decoded_path
    queries = list(filter(None, (request.query, request.canonical_lines[QUERY])))
    host = request.origin.rpartition("//")[2]
    origins = (request.origin, f"http://{host}", f"https://{host}", host) if host else ()
    pieces = [quote(unquote_to_bytes(piece)) for piece in re.split("%2F", sent, flags=re.IGNORECASE)]
    yield "query-in-path", [f"{path}?{query}" for path in (right, sent) for query in queries]
    yield "url-instead-of-path", [o + rest for o in origins for rest in (request.target, request.full_path, sent)]
    if request.prefix:
        yield "path-with-prefix", [request.full_path, request.prefix + right, request.target]
    yield "path-without-version", [path.removeprefix("/v1") or "/" for path in (right, sent)]
    yield "path-slash-at-end", [path[:-1] if path.endswith("/") else f"{path}/" for path in (right, sent)]
    yield "path-without-first-slash", [right.removeprefix("/")]
    yield "encoded-slash-kept", ["%2F".join(pieces), "%2f".join(pieces)]
    yield "path-slashes-encoded", [quote(decoded, safe="")]
    yield "path-hex-in-lower-case", [_lower_hex(right)]
    yield "path-decoded", [decoded.decode()]
    yield "path-encoded-twice", [quote(sent), quote(right)]
    yield "path-plus-for-space", [right.replace("%20", "+")]
    otherwise = [quote(decoded, safe=f"/{left}") for left in _LEFT_UNENCODED]
    otherwise = [*otherwise, *(path.replace("~", "%7E") for path in (right, *otherwise))]
    otherwise = [*otherwise, *(path.replace("%20", "+") for path in otherwise)]
    yield "path-encoded-otherwise", [*otherwise, *map(_lower_hex, otherwise), *_iris(decoded.decode())]
    yield "path-as-sent", [sent, *_needlessly_encoded(right)]


def _iris(decoded: str) -> Iterator[str]:
    """Yield a path whose letters outside ASCII are as they are."""
    for left in ("", *_LEFT_UNENCODED):
        yield "".join(quote(one, safe=f"/{left}") if one.isascii() else one for one in decoded)


def _needlessly_encoded(path: str) -> Iterator[str]:
    """Yield a path with escapes that the canonical one lacks, in its last segment: of one character, of a kind, of all.

    A server sees the decoded path only, so that they are tried.
    """
    head, slash, last = path.rpartition("/")
    pieces = re.findall("%[0-9A-F]{2}|.", last)
    if len(pieces) > _MAX_PIECES:
        return
    for kind in ("-", ".", "_", "~", "-._~"):
        yield head + slash + "".join(_escape(one) if one in kind else one for one in pieces)
    for index, one in enumerate(pieces):
        if len(one) == 1:
            yield from (
                head + slash + "".join([*pieces[:index], escaped, *pieces[index + 1 :]])
                for escaped in dict.fromkeys((_escape(one), _escape(one).lower()))
            )
    yield head + slash + "".join(_escape(one) if len(one) == 1 else one for one in pieces)


def _escape(character: str) -> str:
    return f"%{ord(character):02X}"


def _query(request: PastedRequest) -> _Mistakes:
    right, sent, decoded = request.canonical_lines[QUERY], request.query, request.pairs
    pairs = [(_encode(name), _encode(value)) for name, value in decoded]

    def encoded(encode: Callable[[str], str]) -> list[str]:
        """Encode by other rules: sorted, and in the order sent."""
        others = [(encode(name), encode(value)) for name, value in decoded]
        return [_join(sorted(others)), _join(others)]

    yield "query-not-signed", [""]
    yield "query-question-mark", [f"?{query}" for query in (right, sent) if query]
    yield "query-unsorted", [_join(pairs)]
    yield "query-sorted-otherwise", _sorted_otherwise(pairs, decoded)
    yield "query-hex-in-lower-case", encoded(lambda text: _lower_hex(_encode(text)))
    yield "query-slash-left", encoded(quote)
    yield "query-plus-for-space", encoded(quote_plus)
    by_encoded = sorted(decoded, key=lambda pair: [_encode(part) for part in pair])
    yield "query-decoded", [_join(sorted(decoded)), _join(by_encoded)]
    yield "query-decoded-and-unsorted", [_join(decoded), unquote(sent)]
    yield "query-encoded-twice", encoded(lambda text: _encode(_encode(text)))
    yield "query-encoded-whole", [_encode(sent), _encode(right)]
    without_sign = "&".join(f"{name}={value}" if value else name for name, value in sorted(pairs))
    yield "query-empty-value-lost", [without_sign, _join(pair for pair in sorted(pairs) if pair[1])]
    yield "query-repetition-lost", [_join(sorted(dict(one).items())) for one in (pairs, reversed(pairs))]
    yield "query-encoded-otherwise", [query for encode in _OTHER_ENCODERS for query in encoded(encode)]
    yield "query-as-sent", [sent]


def _sorted_otherwise(pairs: list[tuple[str, str]], decoded: list[tuple[str, str]]) -> Iterator[str]:
    """Sort by name only, by the joined text, by the decoded text, and without regard to letter case."""
    yield _join(sorted(pairs, key=lambda pair: pair[0]))
    yield "&".join(sorted(_join([pair]) for pair in pairs))
    yield _join((_encode(name), _encode(value)) for name, value in sorted(decoded))
    yield _join(sorted(pairs, key=lambda pair: (pair[0].lower(), pair[1].lower())))


def _encode(text: str) -> str:
    return quote(text, safe="")


def _join(pairs: Iterable[tuple[str, str]]) -> str:
    return "&".join(f"{name}={value}" for name, value in pairs)


def _lower_hex(text: str) -> str:
    return re.sub(r"%[0-9A-Fa-f]{2}", lambda match: match[0].lower(), text)


def _timestamp(request: PastedRequest) -> _Mistakes:
    if signed_at := instant(request.timestamp):
        yield "timestamp-reformatted", _times(signed_at.astimezone(UTC), request.timestamp)
        unix = signed_at.timestamp()
        numbers = [str(int(unix * factor)) for factor in (1, 1000, 1_000_000, 1_000_000_000)]
        yield "timestamp-signed-as-number", [*numbers, str(unix), f"{unix:.3f}", f"{unix:.6f}"]
    yield "timestamp-left-out", [""]


def _times(moment: datetime, sent: str) -> Iterator[str]:
    """Yield a time in UTC as programs write it, then in other time zones with the sent precision."""
    seconds, micros = f"{moment:%Y-%m-%dT%H:%M:%S}", f"{moment:%Y-%m-%dT%H:%M:%S.%f}"
    precisions = (seconds, micros[:-3], micros, f"{micros}0", f"{micros}000", micros.rstrip("0").rstrip("."))
    yield from (text + zone for text in precisions for zone in ("Z", "+00:00", "", "+0000", "-00:00", "z", " UTC"))
    yield from (text.replace("T", " ") + zone for text in precisions for zone in ("", "Z", "+00:00", " UTC", " +0000"))
    yield from (f"{moment:{form}}" for form in ("%Y%m%dT%H%M%SZ", "%Y-%m-%dT%H:%MZ", "%Y%m%d%H%M%S", "%Y-%m-%d"))
    yield from (format_datetime(moment, usegmt=usegmt) for usegmt in (True, False))
    yield sent.lower()
    for minutes in range(-12 * 60, 14 * 60 + 1, 30):
        there = moment.astimezone(timezone(timedelta(minutes=minutes)))
        yield from (there.isoformat(timespec=one) for one in ("seconds", "milliseconds", "microseconds"))


def _idempotency_key(request: PastedRequest) -> _Mistakes:
    key = request.idempotency_key
    yield "idempotency-key-case", [key.lower(), key.upper()]
    yield "idempotency-key-left-out", [""]
    yield "idempotency-key-word", () if key else _NULLS
    yield "idempotency-key-reformatted", [key.replace("-", "")]


def _body(request: PastedRequest) -> _Mistakes:
    body, text, digest = request.body, request.body_text, hashlib.sha256(request.body)
    lf = body.replace(b"\r\n", b"\n")
    crlf = lf.replace(b"\n", b"\r\n")
    yield "body-digest-upper-case", [digest.hexdigest().upper()]
    yield "body-digest-left-out", [""]
    yield "body-serialised-again", _digests(_serialised_again(body))
    yield "body-not-hashed", _digests([b""])
    yield "body-placeholder-hashed", _digests(() if body else _BODY_PLACEHOLDERS)
    yield "body-end-differs", _digests([body.rstrip(b"\r\n"), body + b"\n", body + b"\r\n", body.strip()])
    yield "body-line-ends-differ", _digests([crlf, lf, crlf.rstrip(b"\r\n"), lf.replace(b"\n", b"")])
    if body:
        yield "body-serialised-twice", _digests(json.dumps(text, ensure_ascii=a).encode() for a in (False, True))
    if text:
        others = [text.encode(encoding, errors="replace") for encoding in _ENCODINGS]
        yield "body-encoded-otherwise", _digests([body.removeprefix(b"\xef\xbb\xbf"), *others])
    yield "body-hashed-twice", _digests([base64.b64encode(body), digest.hexdigest().encode(), digest.digest()])
    encoded = [encode(digest.digest()).decode() for encode in (base64.b64encode, base64.urlsafe_b64encode)]
    of_hex = base64.b64encode(digest.hexdigest().encode()).decode()
    yield "body-digest-base64", [*encoded, *(one.rstrip("=") for one in encoded), of_hex]
    # The line is shown: an API key in it must not be.
    if body and len(body) <= MAX_BODY_BYTES and "psi_key_" not in text and "psi_test_key_" not in text:
        yield "body-itself", [text]
    # The output of sha256sum and of two versions of openssl.
    hexadecimal = digest.hexdigest()
    yield "body-digest-malformed", [f"{hexadecimal}  -", f"SHA2-256(stdin)= {hexadecimal}", f"(stdin)= {hexadecimal}"]
    yield "body-other-hash", [hashlib.new(name, body, usedforsecurity=False).hexdigest() for name in _OTHER_HASHES]


def _digests(bodies: Iterable[bytes]) -> list[str]:
    return [signatures.body_digest(body) for body in bodies]


def _serialised_again(body: bytes) -> Iterator[bytes]:
    """Yield a body's JSON in other bytes; nothing if it is not JSON, or too large."""
    if len(body) > _MAX_JSON_BYTES or body.count(b"[") + body.count(b"{") > _MAX_BRACKETS:
        return
    try:
        values = json.loads(body), json.loads(body, parse_float=_javascript_number)
    except ValueError:
        return
    for value in values:
        for text in _serialised(value):
            # A lone surrogate can be escaped, but not encoded.
            yield text.encode(errors="replace")


def _javascript_number(text: str) -> float | int:
    number = float(text)
    return int(number) if number.is_integer() and abs(number) < _EXPONENT_FROM else number


def _serialised(value: Any) -> Iterator[str]:
    for sort_keys in (False, True):
        for ensure_ascii in (False, True):
            compact = json.dumps(value, sort_keys=sort_keys, ensure_ascii=ensure_ascii, separators=(",", ":"))
            yield compact
            yield json.dumps(value, sort_keys=sort_keys, ensure_ascii=ensure_ascii)
            # PHP; Go.
            yield compact.replace("/", "\\/")
            yield compact.translate(_GO_ESCAPES)
        for indent in (2, 4, "\t"):
            yield json.dumps(value, sort_keys=sort_keys, ensure_ascii=False, indent=indent)
