"""What can be wrong with one line of a canonical request: the table of mistakes, by line.

Each mistake is a small function from the right request to what the line becomes when somebody makes it.
The first mistake of a line that gives the line that was pasted is the cause.
"""

import base64
import hashlib
import json
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple
from urllib.parse import quote, quote_plus, unquote, unquote_to_bytes
from uuid import UUID

from partners.authentication import signing
from partners.doctor.causes import BODY, PATH, QUERY, Cause, Verdict, counted
from partners.doctor.request import LARGEST_BODY_BYTES, PastedRequest
from partners.doctor.serialisation import serialised_again

# What common functions leave unencoded: encodeURIComponent, RFC 3986 within a path, Java's URLEncoder.
_LEFT_UNENCODED = ("!'()*", "!$&'()*+,;=:@", "*")
_WORDS_FOR_NOTHING = ("null", "None", "undefined", "nil", "-")
_BODIES_FOR_NOTHING = (b"{}", b"null", b'""', b"undefined", b"None", b"[]", b" ", b"\n")
_INVISIBLE = re.compile("[\u00ad\u200b-\u200f\u2028-\u202e\u2060\ufeff\x00-\x08\x0b-\x1f\x7f]")
_SPACES = re.compile("[\u00a0\u2007\u202f\u3000]")
_LABEL = re.compile(r"\A[A-Za-z][A-Za-z0-9 _\-]{0,40}[:=]\s*")


@dataclass(frozen=True)
class Mistake(Cause):
    """A way to get a line wrong. forms: what the line becomes, the likeliest first; the right line is ignored.

    matches: whether a line that is wrong comes of this mistake, where forms cannot list them all.
    """

    forms: Callable[[PastedRequest], Iterable[str]] = lambda _: ()
    matches: Callable[[PastedRequest, str], Verdict] = lambda _request, _line: False


@dataclass(frozen=True)
class Surrounding(Cause):
    """Something around or within the right text of any line. undo: returns a line without it."""

    undo: Callable[[str], str] = str


class WrongLine(NamedTuple):
    """A mistake in one request. line: its index. forms: what the line becomes, never the right one."""

    line: int
    mistake: Mistake
    forms: list[str]


def wrong_lines(request: PastedRequest) -> list[WrongLine]:
    """Return every mistake with its forms for this request; a form that several mistakes give is the first one's."""
    wrong = []
    for index, mistakes in enumerate(MISTAKES):
        seen = {request.canonical_lines[index]}
        for mistake in mistakes:
            # A request that is not UTF-8 cannot be signed at all.
            forms = dict.fromkeys(mistake.forms(request)) if request.is_utf8 else {}
            wrong.append(WrongLine(index, mistake, [form for form in forms if form not in seen and "\n" not in form]))
            seen.update(forms)
    return wrong


def _encode(text: str) -> str:
    return quote(text, safe="")


def _join(pairs: Iterable[tuple[str, str]]) -> str:
    return "&".join(f"{name}={value}" for name, value in pairs)


def _pairs(request: PastedRequest, encode: Callable[[str], str] = _encode) -> list[tuple[str, str]]:
    return [(encode(name), encode(value)) for name, value in request.pairs]


def _queries(request: PastedRequest, encode: Callable[[str], str]) -> list[str]:
    """The query in another encoding: sorted, and in the order sent."""
    pairs = _pairs(request, encode)
    return [_join(sorted(pairs)), _join(pairs)]


def _lower_hex(text: str) -> str:
    return re.sub(r"%[0-9A-Fa-f]{2}", lambda match: match[0].lower(), text)


def _paths(request: PastedRequest) -> tuple[str, str]:
    """The path as it is signed and as it was sent."""
    return request.canonical_lines[PATH], request.path


def _urls(request: PastedRequest) -> list[str]:
    host = request.origin.rpartition("//")[2]
    origins = (request.origin, f"http://{host}", f"https://{host}", host) if host else ()
    return [origin + rest for origin in origins for rest in (request.target, request.full_path, request.path)]


def _with_encoded_slash(request: PastedRequest) -> list[str]:
    pieces = [quote(unquote_to_bytes(piece)) for piece in re.split("%2F", request.path, flags=re.IGNORECASE)]
    return ["%2F".join(pieces), "%2f".join(pieces)]


def _sorted_differently(request: PastedRequest) -> Iterator[str]:
    """By name alone, by the joined text, by the decoded text, and ignoring letter case."""
    pairs = _pairs(request)
    yield _join(sorted(pairs, key=lambda pair: pair[0]))
    yield "&".join(sorted(_join([pair]) for pair in pairs))
    yield _join((_encode(name), _encode(value)) for name, value in sorted(request.pairs))
    yield _join(sorted(pairs, key=lambda pair: (pair[0].lower(), pair[1].lower())))


def _one_of_each_name(request: PastedRequest) -> list[str]:
    pairs = _pairs(request)
    return [_join(sorted(dict(pairs).items())), _join(sorted(dict(reversed(pairs)).items()))]


def _without_equals_sign(request: PastedRequest) -> list[str]:
    pairs = sorted(_pairs(request))
    return ["&".join(f"{name}={value}" if value else name for name, value in pairs), _join(p for p in pairs if p[1])]


def _encoders() -> Iterator[Callable[[str], str]]:
    """Functions that encode by other rules."""
    for left in _LEFT_UNENCODED:
        yield lambda text, safe=left: quote(text, safe=safe)  # type: ignore[misc]
        yield lambda text, safe=left: quote_plus(text, safe=safe)  # type: ignore[misc]
        yield lambda text, safe=left: quote(text, safe=f"{safe}/?")  # type: ignore[misc]
    yield lambda text: quote_plus(text).replace("~", "%7E")
    yield lambda text: _encode(text).replace("~", "%7E")


def instant(text: str) -> datetime | None:
    """Return the instant of a timestamp; None where it is malformed."""
    try:
        return signing.parse_timestamp(text)
    except ValueError:
        return None


def _reformatted(request: PastedRequest) -> Iterator[str]:
    if signed_at := instant(request.timestamp):
        seconds, micros = signed_at.strftime("%Y-%m-%dT%H:%M:%S"), signed_at.strftime("%Y-%m-%dT%H:%M:%S.%f")
        yield from (text + zone for text in (seconds, micros[:-3], micros) for zone in ("Z", "+00:00"))
        yield from (seconds.replace("T", " "), seconds)


def _as_number(request: PastedRequest) -> list[str]:
    signed_at = instant(request.timestamp)
    return [str(int(signed_at.timestamp() * factor)) for factor in (1, 1000)] if signed_at else []


def _is_of_same_second(request: PastedRequest, line: str) -> bool:
    sent, signed = instant(request.timestamp), instant(line)
    return bool(sent and signed) and int(sent.timestamp()) == int(signed.timestamp())  # type: ignore[union-attr]


def _is_of_another_moment(request: PastedRequest, line: str) -> Verdict:
    sent, signed = instant(request.timestamp), instant(line)
    if sent is None or signed is None:
        return False
    off = counted(abs((signed - sent).total_seconds()), "second")
    return {"off": off, "way": "later" if signed > sent else "earlier"}


def _is_same_uuid(request: PastedRequest, line: str) -> bool:
    try:
        return UUID(request.idempotency_key) == UUID(line)
    except ValueError:
        return False


def _digests(*bodies: bytes) -> list[str]:
    return [signing.body_digest(body) for body in bodies]


def _other_line_ends(request: PastedRequest) -> list[str]:
    lf = request.body.replace(b"\r\n", b"\n")
    crlf = lf.replace(b"\n", b"\r\n")
    return _digests(crlf, lf, crlf.rstrip(b"\r\n"), lf.replace(b"\n", b""))


def _other_encodings(request: PastedRequest) -> list[str]:
    encodings = ("utf-8-sig", "latin-1", "cp1252", "utf-16-le", "utf-16-be", "utf-16")
    others = [request.body_text.encode(encoding, errors="replace") for encoding in encodings]
    return _digests(request.body.removeprefix(b"\xef\xbb\xbf"), *others) if request.body_text else []


def _digest_in_base64(request: PastedRequest) -> list[str]:
    digest = hashlib.sha256(request.body).digest()
    encoded = [base64.b64encode(digest).decode(), base64.urlsafe_b64encode(digest).decode()]
    return [*encoded, *(text.rstrip("=") for text in encoded), base64.b64encode(digest.hex().encode()).decode()]


def _body_itself(request: PastedRequest) -> list[str]:
    # The line is shown: an API key in it must not be.
    is_shown = len(request.body) <= LARGEST_BODY_BYTES and "psi_key_" not in request.body_text
    return [request.body_text] if request.body and is_shown else []


def _other_hashes(request: PastedRequest) -> list[str]:
    names = ("sha1", "md5", "sha512", "sha384", "sha224", "sha3_256")
    return [hashlib.new(name, request.body, usedforsecurity=False).hexdigest() for name in names]


# fmt: off
_METHOD = (
    Mistake("method-not-upper-case", "The method is not in upper case",
            forms=lambda r: [r.method.lower(), r.method.capitalize()]),
    Mistake("method-differs", "The method is not the one that was sent",
            "Sign the method that is sent; check for a redirect or a library that changes it."),
)

_PATH = (
    Mistake("query-in-path", "The query is in the path's line", "Cut the URL at its first question mark.",
            forms=lambda r: [f"{path}?{query}" for path in _paths(r) for query in (r.query, r.canonical_lines[QUERY])
                             if query],
            matches=lambda r, line: "?" in line and line.partition("?")[0] in _paths(r)),
    Mistake("url-instead-of-path", "The path's line holds a URL", "Sign the path alone, without scheme and host.",
            forms=_urls, matches=lambda _, line: bool(re.match(r"[A-Za-z][A-Za-z0-9+.\-]*://", line))),
    Mistake("path-with-prefix", "The path is signed with what precedes /v1",
            "Sign the path from /v1 on: a proxy removes what precedes it before the service checks.",
            forms=lambda r: [r.full_path, r.prefix + r.canonical_lines[PATH], r.target] if r.prefix else []),
    Mistake("path-without-version", "/v1 is missing in the path",
            "Put /v1 in front of the path that you sign, also where your base URL ends with it.",
            forms=lambda r: [path.removeprefix("/v1") or "/" for path in _paths(r)]),
    Mistake("path-slash-at-end", "The slash at the path's end is not the same",
            "Sign the path exactly as far as it is sent: /v1/ping and /v1/ping/ are two paths.",
            forms=lambda r: [path.removesuffix("/") if path.endswith("/") else f"{path}/" for path in _paths(r)]),
    Mistake("path-without-first-slash", "The path does not begin with a slash",
            forms=lambda r: [r.canonical_lines[PATH].removeprefix("/")]),
    Mistake("encoded-slash-kept", "An encoded slash was kept in the path",
            "Decode the whole path, by which %2F becomes a slash, then encode all of it but slashes.",
            forms=_with_encoded_slash),
    Mistake("path-slashes-encoded", "The slashes of the path are encoded", "Encode / in the query only, as %2F.",
            forms=lambda r: [quote(r.decoded_path, safe="")]),
    Mistake("path-hex-in-lower-case", "Escapes of the path are in lower case",
            "Write the hex digits of escapes in upper case: %C3, not %c3.",
            forms=lambda r: [_lower_hex(r.canonical_lines[PATH])]),
    Mistake("path-decoded", "The path is decoded instead of encoded",
            "Percent-encode each byte but A-Z a-z 0-9 - . _ ~ and /; encodeURIComponent leaves ! ' ( ) * too.",
            forms=lambda r: [r.decoded_path.decode()]),
    Mistake("path-encoded-twice", "The path is encoded twice", "Encode the decoded path once.",
            forms=lambda r: [quote(r.path), quote(r.canonical_lines[PATH])]),
    Mistake("path-plus-for-space", "A space of the path is written as +",
            "Use a function for percent-encoding, which makes it %20, instead of one for forms.",
            forms=lambda r: [r.canonical_lines[PATH].replace("%20", "+")]),
    Mistake("path-encoded-otherwise", "The path is encoded by other rules",
            "Percent-encode every byte but A-Z a-z 0-9 - . _ ~ and /, also ! ' ( ) * : @ and the like.",
            forms=lambda r: [*(quote(r.decoded_path, safe=f"/{left}") for left in _LEFT_UNENCODED),
                             r.canonical_lines[PATH].replace("~", "%7E")]),
    Mistake("path-as-sent", "The path is signed as it was sent", forms=lambda r: [r.path]),
    Mistake("path-differs", "The path is not the one that was sent"),
)

_QUERY = (
    Mistake("query-not-signed", "The query is not signed", forms=lambda _: [""]),
    Mistake("query-question-mark", "The query's line begins with a question mark", "Leave the question mark out.",
            forms=lambda r: [f"?{query}" for query in (r.canonical_lines[QUERY], r.query) if query]),
    Mistake("query-unsorted", "The query is not sorted",
            "Sort the encoded parameters by name, then by value, byte by byte, before you join them.",
            forms=lambda r: [_join(_pairs(r))]),
    Mistake("query-sorted-otherwise", "The query is sorted by another rule",
            "Encode first, then sort the pairs by encoded name and value, byte by byte, without regard to a language.",
            forms=_sorted_differently),
    Mistake("query-hex-in-lower-case", "Escapes of the query are in lower case",
            "Write the hex digits of escapes in upper case: %3A, not %3a.",
            forms=lambda r: _queries(r, lambda text: _lower_hex(_encode(text)))),
    Mistake("query-slash-left", "A slash of the query is not encoded", "Write / in names and values as %2F.",
            forms=lambda r: _queries(r, quote)),
    Mistake("query-plus-for-space", "A space of the query is written as +",
            "Use a function for percent-encoding, which makes it %20, instead of one for forms.",
            forms=lambda r: _queries(r, quote_plus)),
    Mistake("query-decoded", "The query is decoded instead of encoded",
            "Percent-encode each byte but A-Z a-z 0-9 - . _ ~; encodeURIComponent leaves ! ' ( ) * too.",
            forms=lambda r: [_join(sorted(r.pairs)),
                             _join(sorted(r.pairs, key=lambda pair: [_encode(part) for part in pair]))]),
    Mistake("query-decoded-and-unsorted", "The query is neither encoded nor sorted",
            forms=lambda r: [_join(r.pairs), unquote(r.query)]),
    Mistake("query-encoded-twice", "The query is encoded twice", "Encode the decoded names and values once.",
            forms=lambda r: _queries(r, lambda text: _encode(_encode(text)))),
    Mistake("query-encoded-whole", "The query is encoded as a whole",
            "Encode each name and each value, then join them with = and &.",
            forms=lambda r: [_encode(r.query), _encode(r.canonical_lines[QUERY])]),
    Mistake("query-empty-value-lost", "A parameter without value has no equals sign",
            "Write name= where there is no value.", forms=_without_equals_sign),
    Mistake("query-repetition-lost", "A parameter that was sent twice is signed once",
            "Keep the parameters in a list of pairs: a dictionary keeps one value of each name.",
            forms=_one_of_each_name),
    Mistake("query-encoded-otherwise", "The query is encoded by other rules",
            "Percent-encode every byte but A-Z a-z 0-9 - . _ and ~, also ! ' ( ) * : and the like.",
            forms=lambda r: [query for encode in _encoders() for query in _queries(r, encode)]),
    Mistake("query-as-sent", "The query is signed as it was sent", forms=lambda r: [r.query]),
    Mistake("query-differs", "The query is not the one that was sent"),
)

_TIMESTAMP = (
    Mistake("timestamp-reformatted", "The timestamp is in another format than it is sent in", forms=_reformatted,
            matches=_is_of_same_second),
    Mistake("timestamp-signed-as-number", "The timestamp is signed as a number", forms=_as_number,
            matches=lambda _, line: bool(re.fullmatch(r"\d{9,19}(?:\.\d+)?", line, re.ASCII))),
    Mistake("timestamp-of-another-moment", "Another time was signed than was sent",
            explanation="Line 4 is {off} {way} than X-Request-Timestamp, as if the clock had been read twice.",
            matches=_is_of_another_moment),
    Mistake("timestamp-differs", "Line 4 is not the timestamp"),
)

_IDEMPOTENCY_KEY = (
    Mistake("idempotency-key-case", "The key's letter case was changed",
            forms=lambda r: [r.idempotency_key.lower(), r.idempotency_key.upper()]),
    Mistake("idempotency-key-left-out", "The Idempotency-Key is not signed",
            "Sign the key in line 5; check for a library that adds the header by itself.", forms=lambda _: [""]),
    Mistake("idempotency-key-word", "Line 5 holds your language's word for nothing, such as null",
            "Leave line 5 empty where there is no key.",
            forms=lambda r: () if r.idempotency_key else _WORDS_FOR_NOTHING),
    Mistake("idempotency-key-not-sent", "The Idempotency-Key was signed, but not sent",
            "Send the key that you sign; check whether a proxy removes the header.",
            matches=lambda r, line: not r.idempotency_key and bool(line.strip())),
    Mistake("idempotency-key-reformatted", "The Idempotency-Key is in another format than it is sent in",
            forms=lambda r: [r.idempotency_key.replace("-", "")], matches=_is_same_uuid),
    Mistake("idempotency-key-differs", "Another Idempotency-Key was signed than was sent"),
)

_BODY = (
    Mistake("body-digest-upper-case", "The body's digest is in upper case",
            "Convert the digest to lower case before you sign.", forms=lambda r: [r.canonical_lines[BODY].upper()]),
    Mistake("body-digest-left-out", "The body's digest is missing",
            "Hash the body always, also where it is empty: e3b0c442…b855.", forms=lambda _: [""]),
    Mistake("body-serialised-again", "The JSON is serialised again after or before signing",
            "Serialise once, hash those bytes and send them; give your HTTP library bytes, not an object.",
            forms=lambda r: _digests(*serialised_again(r.body))),
    Mistake("body-not-hashed", "The digest is of an empty body",
            "Hash the bytes that you send; check for a stream that was read to its end before.",
            forms=lambda _: _digests(b"")),
    Mistake("body-placeholder-hashed", "A placeholder such as null is hashed where there is no body",
            "Hash no bytes at all where there is no body.",
            forms=lambda r: [] if r.body else _digests(*_BODIES_FOR_NOTHING)),
    Mistake("body-end-differs", "The digest is of a body with a line feed more or fewer at its end",
            "Hash exactly the bytes that you send; look for a line feed that an editor, echo or a template adds.",
            forms=lambda r: _digests(r.body.rstrip(b"\r\n"), r.body + b"\n", r.body + b"\r\n", r.body.strip())),
    Mistake("body-line-ends-differ", "The digest is of a body with other line ends, CRLF for LF or the reverse",
            "Hash and send the same bytes; open files in binary mode.", forms=_other_line_ends),
    Mistake("body-serialised-twice", "The digest is of the body as a JSON string",
            "Hash the text that you send; do not serialise it once more.",
            forms=lambda r: _digests(json.dumps(r.body_text, ensure_ascii=False).encode(),
                                     json.dumps(r.body_text).encode()) if r.body else []),
    Mistake("body-encoded-otherwise", "The body is hashed in another encoding",
            "Encode the body as UTF-8 once, without a byte order mark, hash those bytes and send them.",
            forms=_other_encodings),
    Mistake("body-hashed-twice", "The body was hashed or encoded in Base64 before it was hashed",
            "Hash the bytes of the body itself, once.",
            forms=lambda r: _digests(base64.b64encode(r.body), r.canonical_lines[BODY].encode(),
                                     hashlib.sha256(r.body).digest())),
    Mistake("body-digest-base64", "The body's digest is in Base64", "Write the digest in lower-case hex.",
            forms=_digest_in_base64),
    Mistake("body-itself", "Line 6 is the body instead of its digest",
            "Hash the bytes of the body, and sign the digest in hex.", forms=_body_itself,
            matches=lambda r, line: bool(r.body)
            and line.replace("\r", "").strip() == r.body_text.replace("\r", "").strip()),
    Mistake("body-other-hash", "The body is hashed by another function", "Use SHA-256.", forms=_other_hashes),
    Mistake("body-digest-malformed", "Line 6 is no SHA-256", "Write the SHA-256 of the body in lower-case hex.",
            matches=lambda _, line: not re.fullmatch(r"[0-9a-fA-F]{64}", line)),
    Mistake("body-differs", "The digest is of another body",
            "Log the bytes that you hash and those that you send, and compare them."),
)

# By the index of the line; the last of each is for lines that no other explains.
MISTAKES = (_METHOD, _PATH, _QUERY, _TIMESTAMP, _IDEMPOTENCY_KEY, _BODY)

SURROUNDINGS = (
    Surrounding("spaces-around-line", "There are spaces or tabs around the line",
                "Remove them before you sign; headers arrive without them.", undo=str.strip),
    Surrounding("line-in-quotes", "The line is in quotation marks", "Sign the text, not its JSON.",
                undo=lambda line: line[1:-1] if line[:1] in "\"'`" and line[:1] == line[-1:] else line),
    Surrounding("line-with-label", "There is a name before the line's text", "Leave out the name and its colon.",
                undo=lambda line: _LABEL.sub("", line)),
    Surrounding("invisible-character", "The line holds a character that cannot be seen",
                "Look at the bytes of the value where it comes from, often a copied one.",
                undo=lambda line: _INVISIBLE.sub("", _SPACES.sub(" ", line)).strip()),
)
