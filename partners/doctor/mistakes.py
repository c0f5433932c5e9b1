"""Mistakes in one line of the canonical request: what the line becomes when a program makes them.

A line that differs is due to the first mistake that gives exactly this line.
"""

import base64
import hashlib
import json
import re
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from typing import NamedTuple
from urllib.parse import quote, quote_plus, unquote, unquote_to_bytes
from uuid import UUID

from partners.authentication import signing
from partners.doctor.causes import LINES, PATH, QUERY, Finding, Verdict, counted, finding, first_finding
from partners.doctor.request import LARGEST_BODY_BYTES, PastedRequest
from partners.doctor.serialisation import serialised_again

# What common functions leave unencoded: encodeURIComponent, RFC 3986 within a path, Java's URLEncoder.
_LEFT_UNENCODED = ("!'()*", "!$&'()*+,;=:@", "*")
_NULLS = ("null", "None", "undefined", "nil", "-")
_BODY_PLACEHOLDERS = (b"{}", b"null", b'""', b"undefined", b"None", b"[]", b" ", b"\n")
_ENCODINGS = ("utf-8-sig", "latin-1", "cp1252", "utf-16-le", "utf-16-be", "utf-16")
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


def wrong_lines(request: PastedRequest) -> list[WrongLine]:
    """Return the mistakes that change a line of this request; a form of several mistakes belongs to the first."""
    # A request that is not UTF-8 cannot be signed at all.
    if not request.is_utf8:
        return []
    wrong = []
    for index, mistakes in enumerate((_method, _path, _query, _timestamp, _idempotency_key, _body)):
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
    sent, signed = instant(request.timestamp), instant(line)
    verdicts: tuple[dict[str, Verdict], ...] = (
        {"method-differs": True},
        {
            "query-in-path": "?" in line and line.partition("?")[0] in {request.canonical_lines[PATH], request.path},
            "url-instead-of-path": bool(re.match(r"[A-Za-z][A-Za-z0-9+.\-]*://", line)),
            "path-differs": True,
        },
        {"query-differs": True},
        {
            "timestamp-reformatted": _same_second(sent, signed),
            "timestamp-signed-as-number": bool(re.fullmatch(r"\d{9,19}(?:\.\d+)?", line, re.ASCII)),
            "timestamp-of-another-moment": _time_between(sent, signed),
            "timestamp-differs": True,
        },
        {
            "idempotency-key-not-sent": not request.idempotency_key and bool(line.strip()),
            "idempotency-key-reformatted": _same_uuid(request.idempotency_key, line),
            "idempotency-key-differs": True,
        },
        {
            "body-itself": bool(request.body) and _without_line_ends(line) == _without_line_ends(request.body_text),
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
        return signing.parse_timestamp(text)
    except ValueError:
        return None


def _same_second(sent: datetime | None, signed: datetime | None) -> bool:
    return bool(sent and signed and int(sent.timestamp()) == int(signed.timestamp()))


def _time_between(sent: datetime | None, signed: datetime | None) -> Verdict:
    if sent is None or signed is None:
        return False
    seconds = (signed - sent).total_seconds()
    offset = f"{counted(abs(seconds), 'second')} {'later' if seconds > 0 else 'earlier'}"
    return f"Line 4 is {offset} than X-Request-Timestamp, as if the clock had been read twice."


def _same_uuid(one: str, other: str) -> bool:
    try:
        return UUID(one) == UUID(other)
    except ValueError:
        return False


def _without_line_ends(text: str) -> str:
    return text.replace("\r", "").strip()


_Mistakes = Iterator[tuple[str, Iterable[str]]]


def _method(request: PastedRequest) -> _Mistakes:
    yield "method-not-upper-case", [request.method.lower(), request.method.capitalize()]


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
    yield "path-encoded-otherwise", [*otherwise, right.replace("~", "%7E")]
    yield "path-as-sent", [sent]


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
    yield "query-encoded-otherwise", [query for encode in _other_encoders() for query in encoded(encode)]
    yield "query-as-sent", [sent]


def _sorted_otherwise(pairs: list[tuple[str, str]], decoded: list[tuple[str, str]]) -> Iterator[str]:
    """Sort by name only, by the joined text, by the decoded text, and without regard to letter case."""
    yield _join(sorted(pairs, key=lambda pair: pair[0]))
    yield "&".join(sorted(_join([pair]) for pair in pairs))
    yield _join((_encode(name), _encode(value)) for name, value in sorted(decoded))
    yield _join(sorted(pairs, key=lambda pair: (pair[0].lower(), pair[1].lower())))


def _other_encoders() -> Iterator[Callable[[str], str]]:
    for left in _LEFT_UNENCODED:
        yield lambda text, safe=left: quote(text, safe=safe)  # type: ignore[misc]
        yield lambda text, safe=left: quote_plus(text, safe=safe)  # type: ignore[misc]
        yield lambda text, safe=left: quote(text, safe=f"{safe}/?")  # type: ignore[misc]
    yield lambda text: quote_plus(text).replace("~", "%7E")
    yield lambda text: _encode(text).replace("~", "%7E")


def _encode(text: str) -> str:
    return quote(text, safe="")


def _join(pairs: Iterable[tuple[str, str]]) -> str:
    return "&".join(f"{name}={value}" for name, value in pairs)


def _lower_hex(text: str) -> str:
    return re.sub(r"%[0-9A-Fa-f]{2}", lambda match: match[0].lower(), text)


def _timestamp(request: PastedRequest) -> _Mistakes:
    if signed_at := instant(request.timestamp):
        seconds, micros = signed_at.strftime("%Y-%m-%dT%H:%M:%S"), signed_at.strftime("%Y-%m-%dT%H:%M:%S.%f")
        forms = [text + zone for text in (seconds, micros[:-3], micros) for zone in ("Z", "+00:00")]
        yield "timestamp-reformatted", [*forms, seconds.replace("T", " "), seconds]
        yield "timestamp-signed-as-number", [str(int(signed_at.timestamp() * factor)) for factor in (1, 1000)]


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
    yield "body-serialised-again", _digests(serialised_again(body))
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
    if body and len(body) <= LARGEST_BODY_BYTES and "psi_key_" not in text:
        yield "body-itself", [text]
    yield "body-other-hash", [hashlib.new(name, body, usedforsecurity=False).hexdigest() for name in _OTHER_HASHES]


def _digests(bodies: Iterable[bytes]) -> list[str]:
    return [signing.body_digest(body) for body in bodies]
