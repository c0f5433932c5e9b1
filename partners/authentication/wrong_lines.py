"""The lines of a canonical request with their usual mistakes, for diagnosis.py: the likeliest first."""

import base64
import json
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta, timezone
from email.utils import format_datetime
from functools import partial
from hashlib import new
from itertools import chain, combinations, islice, product, zip_longest
from urllib.parse import quote, quote_plus, unquote

from core.formats.rfc_3339 import parse_timestamp
from partners.authentication import signatures
from partners.authentication.signature_authentication import SignedRequest

LINES = ("method", "path", "query", "timestamp", "idempotencyKey", "body")
# A path or a query is tried in as many forms as have so many characters, a body in as many as have so many bytes.
MAX_LINES, MAX_BODIES, MIN_FORMS = 20_000, 200_000, 4
# No larger JSON is serialised again. Indenting costs the product of size and depth.
MAX_JSON, MAX_INDENTED, MAX_BRACKETS = 16 * 1024, 1024, 12

# A text that may have been signed: the cause on the wire, the mistake that makes the text, and the text.
Mistake = tuple[str, str, str]
# A mistake in a line, and what the line becomes.
_Form = tuple[str, str]


def wrong_lines(request: SignedRequest, lines: list[str]) -> Iterator[Mistake]:
    """Yield the texts with one wrong line: the likeliest form of each line, then the next form of each."""
    method, path, query, timestamp, key, digest = lines
    sent, body = request.query_bytes.decode(errors="replace"), request.body_bytes
    signed_queries = [one for one in dict.fromkeys((sent, query)) if one]
    streams: tuple[Iterator[_Form], ...] = (
        _titled("The method is not in upper case, or another one", (method.lower(), method.capitalize(), *_METHODS)),
        islice(_paths(request, signed_queries), max(MIN_FORMS, MAX_LINES // len(path))),
        islice(_queries(request, sent), max(MIN_FORMS, MAX_LINES // (len(query) + 1))),
        _timestamps(timestamp),
        _idempotency_keys(key),
        chain(_digests(body, digest), islice(_other_digests(body), max(MIN_FORMS, MAX_BODIES // (len(body) + 1)))),
    )
    for turn in zip_longest(*streams):
        for index, form in enumerate(turn):
            if form is None:
                continue
            # Under a path with the query line 3 may be empty; under a path as it was sent the query may be so too.
            path_queries = ("", query) if "?" in form[1] else (query, sent)
            for other in path_queries if index == 1 else (query,):
                changed = [*lines[:2], other, *lines[3:]]
                changed[index] = form[1]
                yield (LINES[index], form[0], "\n".join(changed))


def _titled(title: str, forms: Iterable[str]) -> Iterator[_Form]:
    return ((title, form) for form in forms)


_ASCII, _UNRESERVED = "".join(map(chr, range(128))), "-._~"
# What common functions leave unencoded: encodeURIComponent, RFC 3986 within a path, Java's URLEncoder.
_LEFT_UNENCODED = ("!'()*", "!$&'()*+,;=:@", "*")
_METHODS = ("GET", "POST", "PATCH", "PUT", "DELETE")
# Of so many different characters each choice is tried.
_MAX_CHOICES = 6


def _paths(request: SignedRequest, queries: list[str]) -> Iterator[_Form]:
    path, decoded, host = request.canonical_path, request.path_bytes.decode(), request.header("HTTP_HOST")
    targets = ["", *(f"?{query}" for query in queries)]
    yield from _titled("The path line contains the query", (path + one for one in targets[1:]))
    yield "The path is decoded instead of encoded", decoded
    for origin in (f"https://{host}", f"http://{host}", host) if host else ():
        yield from _titled("The path line is a URL", (f"{origin}{path}{one}" for one in targets))
    yield "The path has no /v1", path.removeprefix("/v1") or "/"
    yield "The slash at the end of the path differs", path[:-1] if path.endswith("/") else f"{path}/"
    yield "The path does not begin with a slash", path.removeprefix("/")
    yield "The slashes of the path are encoded", quote(decoded, safe="")
    yield "The path is encoded twice", quote(path)
    yield "The path has + for a space", path.replace("%20", "+")
    for form in _paths_as_sent(path, decoded):
        yield from _titled("The path is signed as sent, or encoded by other rules", (form + one for one in targets))


def _paths_as_sent(path: str, decoded: str) -> Iterator[str]:
    """Yield what a path may be as it was sent, which a server sees decoded.

    Other encoders' forms, each choice of characters that are encoded, and needless escapes: of a segment, of a letter.
    """
    others = [quote(decoded, safe=f"/{left}") for left in ("", *_LEFT_UNENCODED)]
    others += [other.replace("%20", "+") for other in others]
    yield from (form for other in others for form in (other, _lower_hex(other)))
    marks = dict.fromkeys(one if one.isascii() else "é" for one in re.sub("[A-Za-z0-9/]", "", decoded))
    # The sign of an escape is replaced before there are any.
    present = sorted(marks, key=lambda mark: (mark != "%", mark not in _UNRESERVED))
    for number in range(1, _MAX_CHOICES + 1):
        for otherwise in combinations(present[:_MAX_CHOICES], number):
            form = decoded
            for mark in present:
                if (mark in _UNRESERVED) == (mark in otherwise):
                    form = quote(form, safe=_ASCII) if mark == "é" else form.replace(mark, f"%{ord(mark):02X}")
            yield from (form, _lower_hex(form))
    for part in (*re.finditer(r"[^/]+", path), *re.finditer(r"(?<!^)(?<!%)(?<!%.)[A-Za-z0-9/]", path)):
        escaped = "".join(f"%{byte:02X}" for byte in unquote(part[0]).encode())
        yield from (path[: part.start()] + one + path[part.end() :] for one in (escaped, escaped.lower()))


_encode = partial(quote, safe="")
_QUERY_ENCODERS: tuple[tuple[str, Callable[[str], str]], ...] = (
    ("The query is not sorted", _encode),
    ("The query is decoded instead of encoded", str),
    ("The query has + for a space", quote_plus),
    ("The query has lower-case hex", lambda text: _lower_hex(_encode(text))),
    ("A slash of the query is not encoded", quote),
    ("The query is encoded twice", lambda text: _encode(_encode(text))),
    *(
        ("The query is encoded by other rules", partial(function, safe=left + more))
        for left, more, function in product(_LEFT_UNENCODED, ("", "/?"), (quote, quote_plus))
    ),
    ("The query has an encoded ~", lambda text: _encode(text).replace("~", "%7E")),
    ("The query has + for a space and an encoded ~", lambda text: quote_plus(text).replace("~", "%7E")),
)


def _queries(request: SignedRequest, sent: str) -> Iterator[_Form]:
    query, pairs = request.canonical_query, signatures.query_pairs(request.query_bytes)
    encoded = [(_encode(name), _encode(value)) for name, value in pairs]
    yield "The query is not signed", ""
    yield "The query is signed as it was sent", sent
    yield from _titled("The query begins with a question mark", (f"?{one}" for one in (query, sent) if one))
    yield "The query is decoded instead of encoded", unquote(sent)
    for title, encode in _QUERY_ENCODERS:
        others = [(encode(name), encode(value)) for name, value in pairs]
        yield from _titled(title, (_joined(others), _joined(sorted(others))))
    yield from _titled("The query is encoded as a whole", (_encode(sent), _encode(query)))
    yield "A parameter without a value has no =", "&".join(f"{n}={v}" if v else n for n, v in sorted(encoded))
    yield "A parameter without a value is not signed", _joined(pair for pair in sorted(encoded) if pair[1])
    once = (dict(one) for one in (encoded, encoded[::-1]))
    yield from _titled("A repeated parameter is signed once", (_joined(sorted(one.items())) for one in once))
    by_another = (
        _joined(sorted(encoded, key=lambda pair: pair[0])),
        "&".join(sorted(_joined([pair]) for pair in encoded)),
        _joined((_encode(name), _encode(value)) for name, value in sorted(pairs)),
        _joined(sorted(encoded, key=lambda pair: (pair[0].lower(), pair[1].lower()))),
    )
    yield from _titled("The query is sorted by another rule", by_another)


def _joined(pairs: Iterable[tuple[str, str]]) -> str:
    return "&".join(f"{name}={value}" for name, value in pairs)


def _lower_hex(text: str) -> str:
    return re.sub(r"%[0-9A-F]{2}", lambda match: match[0].lower(), text)


# How far apart two readings of the clock are tried, by the precision: the microseconds of a step, and the steps.
_READINGS = {"seconds": (1_000_000, 10), "milliseconds": (1_000, 100), "microseconds": (1, 100)}


def _timestamps(sent: str) -> Iterator[_Form]:
    signed_at = parse_timestamp(sent).astimezone(UTC)
    unix = signed_at.timestamp()
    yield "The timestamp is not signed", ""
    numbers = (str(int(unix * factor)) for factor in (1, 1000, 1_000_000, 1_000_000_000))
    yield from _titled("The timestamp is signed as a number", (*numbers, str(unix), f"{unix:.3f}", f"{unix:.6f}"))
    yield from _titled("The signed timestamp has another format than the header", (*_times(signed_at), sent.lower()))
    for (timespec, (unit, steps)), zone in product(_READINGS.items(), ("Z", "+00:00")):
        if _in_utc(signed_at, timespec, zone) == sent:
            for step, sign in product(range(1, steps + 1), (1, -1)):
                near = signed_at + timedelta(microseconds=unit * step * sign)
                yield "The signed time differs from the header", _in_utc(near, timespec, zone)


def _in_utc(time: datetime, timespec: str, zone: str) -> str:
    return time.isoformat(timespec=timespec).removesuffix("+00:00") + zone


def _times(time: datetime) -> Iterator[str]:
    """Yield a time in UTC as programs write it, then in other time zones."""
    seconds, micros = f"{time:%Y-%m-%dT%H:%M:%S}", f"{time:%Y-%m-%dT%H:%M:%S.%f}"
    precisions = (seconds, micros[:-3], micros, f"{micros}0", f"{micros}000", micros.rstrip("0").rstrip("."))
    for text, zone in product(precisions, ("Z", "+00:00", "", "+0000", "-00:00", "z", " UTC", " +0000")):
        yield from (text + zone, text.replace("T", " ") + zone)
    yield from (f"{time:{form}}" for form in ("%Y%m%dT%H%M%SZ", "%Y-%m-%dT%H:%MZ", "%Y%m%d%H%M%S", "%Y-%m-%d"))
    yield from (format_datetime(time, usegmt=usegmt) for usegmt in (True, False))
    for minutes, timespec in product(range(-12 * 60, 14 * 60 + 1, 30), ("seconds", "milliseconds", "microseconds")):
        yield time.astimezone(timezone(timedelta(minutes=minutes))).isoformat(timespec=timespec)


def _idempotency_keys(key: str) -> Iterator[_Form]:
    if not key:
        words = ("null", "None", "undefined", "nil", "-")
        yield from _titled("There is no Idempotency-Key, but a word such as null is signed", words)
        return
    yield "The Idempotency-Key is not signed", ""
    yield from _titled("The letter case of the Idempotency-Key differs", (key.lower(), key.upper()))
    yield "The signed Idempotency-Key has another format than the header", key.replace("-", "")


def _digests(body: bytes, digest: str) -> Iterator[_Form]:
    """Yield what line 6 may be of this very body."""
    raw = bytes.fromhex(digest)
    yield "The body is not hashed", signatures.body_digest(b"")
    yield "The body digest is in upper case", digest.upper()
    yield "The body digest is missing", ""
    for encoded in (base64.b64encode(raw), base64.urlsafe_b64encode(raw), base64.b64encode(digest.encode())):
        yield from _titled("The body digest is Base64", (encoded.decode(), encoded.decode().rstrip("=")))
    # sha256sum and two versions of openssl.
    outputs = ("{}  -", "SHA2-256(stdin)= {}", "(stdin)= {}")
    yield from _titled("Line 6 has more than the digest", (form.format(digest) for form in outputs))
    yield "Line 6 is the body instead of its digest", body.decode(errors="replace")
    yield from _titled("The body is hashed twice", map(signatures.body_digest, (digest.encode(), raw)))


def _other_digests(body: bytes) -> Iterator[_Form]:
    """Yield the digests of other bytes, and of other functions: each costs the length of the body."""
    lf = body.replace(b"\r\n", b"\n")
    crlf = lf.replace(b"\n", b"\r\n")
    others = (
        ("The hashed body ends differently", (body + b"\n", body.strip(), body.rstrip(b"\r\n"), body + b"\r\n")),
        ("The JSON was serialised again", _serialised_again(body)),
        ("A placeholder is hashed, but there is no body", () if body else _PLACEHOLDERS),
        ("The hashed body has other line ends", (crlf, lf, crlf.rstrip(b"\r\n"), lf.replace(b"\n", b""))),
        ("The body is hashed in another encoding", _encoded_otherwise(body)),
    )
    for title, bodies in others:
        yield from _titled(title, map(signatures.body_digest, bodies))
    for name in ("sha1", "md5", "sha512", "sha384", "sha224", "sha3_256"):
        yield "The body digest is of another hash function", new(name, body, usedforsecurity=False).hexdigest()


_PLACEHOLDERS = (b"{}", b"null", b'""', b"undefined", b"None", b"[]", b" ", b"\n")
_GO_ESCAPES = {ord(character): f"\\u{ord(character):04x}" for character in "<>&\u2028\u2029"}


def _encoded_otherwise(body: bytes) -> Iterator[bytes]:
    with suppress(UnicodeDecodeError):
        text = body.decode()
        yield from (json.dumps(text, ensure_ascii=ensure_ascii).encode() for ensure_ascii in (False, True))
        for encoding in ("utf-8-sig", "latin-1", "cp1252", "utf-16-le", "utf-16-be", "utf-16"):
            yield text.encode(encoding, errors="replace")
    yield from (body.removeprefix(b"\xef\xbb\xbf"), base64.b64encode(body))


def _serialised_again(body: bytes) -> Iterator[bytes]:
    """Yield a body's JSON in other bytes; nothing if it is not JSON, or too large."""
    if len(body) > MAX_JSON:
        return
    is_small = len(body) <= MAX_INDENTED and body.count(b"[") + body.count(b"{") <= MAX_BRACKETS
    # Deep JSON is a RecursionError.
    with suppress(ValueError, RecursionError):
        values = json.loads(body), json.loads(body, parse_float=_javascript_number)
        for value, sort_keys, ensure_ascii in product(values, (False, True), (False, True)):
            dumps = partial(json.dumps, value, sort_keys=sort_keys, ensure_ascii=ensure_ascii)
            compact = dumps(separators=(",", ":"))
            # The third is PHP's, the fourth Go's.
            texts = [compact, dumps(), compact.replace("/", "\\/"), compact.translate(_GO_ESCAPES)]
            # A lone surrogate can be escaped, but not encoded.
            yield from (text.encode(errors="replace") for text in texts)
            yield from (dumps(indent=one).encode(errors="replace") for one in ((2, 4, "\t") if is_small else ()))


def _javascript_number(text: str) -> float | int:
    # From 1e21 on JavaScript writes an exponent.
    return int(number) if (number := float(text)).is_integer() and abs(number) < 1e21 else number  # noqa: PLR2004
