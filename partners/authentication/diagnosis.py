"""Why a signature was refused, for a sandbox partner: contract, section 11.

The text that was signed is searched for: each line of the canonical request with its usual mistakes, the usual layouts
of the lines, the usual forms of the secret. MAX_TEXTS, MAX_BYTES and the limits of each line bound the work. Neither
the secret nor the right signature is in the result.
"""

import base64
import hmac
import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta, timezone
from email.utils import format_datetime
from functools import partial
from hashlib import new, sha256
from itertools import chain, combinations, islice, product, zip_longest
from urllib.parse import quote, quote_plus, unquote

from django.conf import settings

from core.formats.rfc_3339 import parse_timestamp
from partners.authentication import signatures
from partners.authentication.signature_authentication import AuthenticationFailure, SignatureRefusedError, SignedRequest
from partners.models import SECRET_PREFIXES, Mode

# How many texts are signed, and their bytes in total.
MAX_TEXTS, MAX_BYTES = 1_500, 500_000
# Nothing is searched for if path, query and headers are longer.
MAX_HEAD = 4096
# A path or a query is tried in as many forms as have so many characters, a body in as many as have so many bytes.
MAX_LINES, MAX_BODIES, MIN_FORMS = 20_000, 200_000, 4
# No larger JSON is serialised again. Indenting costs the product of size and depth.
MAX_JSON, MAX_INDENTED, MAX_BRACKETS = 16 * 1024, 1024, 12

_KNOWN = {
    AuthenticationFailure.MISSING_HEADER: "headerMissing",
    AuthenticationFailure.MALFORMED_TIMESTAMP: "timestampFormat",
    AuthenticationFailure.CLOCK_SKEW: "clockSkew",
    AuthenticationFailure.REPLAY: "reused",
}
LINES = ("method", "path", "query", "timestamp", "idempotencyKey", "body")
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
# A text that may have been signed: the cause on the wire, the mistake that makes the text, and the text.
_Mistake = tuple[str, str, str]
# A mistake in a line, and what the line becomes.
_Form = tuple[str, str]
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


def _attempts(request: SignedRequest, lines: list[str], secret: str) -> Iterator[tuple[str, _Signer, _Mistake]]:
    """Yield how to sign ("" as the contract has it) and what, the likeliest first."""
    right = ("secret", "", "\n".join(lines))
    right_way = _hmac(secret.encode())
    wrong_ways = list(_wrong_ways(secret, request.header("HTTP_X_API_KEY") or ""))
    yield from ((how, sign, right) for how, sign in wrong_ways)
    layouts = list(_wrong_layouts(lines))
    seen = {right[2]}
    for mistake in chain(layouts, _wrong_lines(request, lines), _left_out(lines)):
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


def _wrong_layouts(lines: Sequence[str]) -> Iterator[_Mistake]:
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


def _left_out(lines: Sequence[str]) -> Iterator[_Mistake]:
    """Yield the text without each line, also without the empty ones."""
    for index, name in enumerate(LINES):
        if lines[index]:
            text = _without(lines, index)
            for one in (text, "\n".join(filter(None, text.split("\n")))):
                yield (name, f"Line {index + 1} is missing: {name}", one)


def _without(lines: Sequence[str], index: int) -> str:
    return "\n".join((*lines[:index], *lines[index + 1 :]))


def _wrong_lines(request: SignedRequest, lines: list[str]) -> Iterator[_Mistake]:
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
