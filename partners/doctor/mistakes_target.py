"""Mistakes in the first two lines of the canonical request, method and path: contract, section 3."""

import re
from collections.abc import Iterator
from urllib.parse import quote, quote_from_bytes, unquote_to_bytes

from partners import signing
from partners.doctor.findings import ERROR, METHOD, PATH, Cause
from partners.doctor.mistakes import Mistake
from partners.doctor.sent import Sent

_ESCAPE = re.compile(r"%[0-9A-Fa-f]{2}")
_ENCODED_SLASH = re.compile(r"(?i)%2F")

# What common functions leave as it is: encodeURIComponent, RFC 3986 within a path, Java's and old ones.
UNRESERVED_TOO = ("!'()*", "!$&'()*+,;=:@", "*")


def lower_hex(text: str) -> str:
    """The text with the hex digits of its escapes in lower case."""
    return _ESCAPE.sub(lambda match: match[0].lower(), text)


def tilde_encoded(text: str) -> str:
    """The text with its tildes percent-encoded, as older functions do it."""
    return text.replace("~", "%7E")


def _method_in_other_case(sent: Sent) -> Iterator[str]:
    yield sent.method.lower()
    yield sent.method.capitalize()


def _paths(sent: Sent) -> tuple[str, ...]:
    """The path as it is signed and as it was sent."""
    return sent.canonical_lines[PATH], sent.path


def _query_appended(sent: Sent) -> Iterator[str]:
    for path in _paths(sent):
        for query in (sent.query, signing.canonical_query(sent.query.encode())):
            if query:
                yield f"{path}?{query}"


def _url(sent: Sent) -> Iterator[str]:
    host = sent.origin.rpartition("//")[2]
    if not host:
        return
    for origin in (sent.origin, f"http://{host}", f"https://{host}", host):
        yield origin + sent.target
        yield origin + sent.full_path
        yield origin + sent.path


def _with_prefix(sent: Sent) -> Iterator[str]:
    if sent.prefix:
        yield sent.full_path
        yield sent.prefix + sent.canonical_lines[PATH]
        yield sent.target


def _without_version(sent: Sent) -> Iterator[str]:
    for path in _paths(sent):
        yield path.removeprefix("/v1") or "/"


def _with_other_end(sent: Sent) -> Iterator[str]:
    for path in _paths(sent):
        yield path.removesuffix("/") if path.endswith("/") else f"{path}/"


def _without_first_slash(sent: Sent) -> Iterator[str]:
    yield sent.canonical_lines[PATH].removeprefix("/")


def _encoded_slash_kept(sent: Sent) -> Iterator[str]:
    pieces = _ENCODED_SLASH.split(sent.path)
    encoded = [quote_from_bytes(unquote_to_bytes(piece), safe="/") for piece in pieces]
    yield "%2F".join(encoded)
    yield "%2f".join(encoded)


def _slashes_encoded(sent: Sent) -> Iterator[str]:
    yield quote_from_bytes(sent.decoded_path, safe="")


def _lower_case_hex(sent: Sent) -> Iterator[str]:
    yield lower_hex(sent.canonical_lines[PATH])


def _encoded_twice(sent: Sent) -> Iterator[str]:
    yield quote(sent.path, safe="/")
    yield quote(sent.canonical_lines[PATH], safe="/")


def _decoded(sent: Sent) -> Iterator[str]:
    yield sent.decoded_path.decode()


def _plus_for_space(sent: Sent) -> Iterator[str]:
    yield sent.canonical_lines[PATH].replace("%20", "+")


def _reserved_left(sent: Sent) -> Iterator[str]:
    for left in UNRESERVED_TOO:
        yield quote_from_bytes(sent.decoded_path, safe=f"/{left}")
    yield tilde_encoded(sent.canonical_lines[PATH])


def _as_sent(sent: Sent) -> Iterator[str]:
    yield sent.path


def _has_query(sent: Sent, theirs: str) -> bool:
    return "?" in theirs and theirs.partition("?")[0] in _paths(sent)


def _is_url(_: Sent, theirs: str) -> bool:
    return bool(re.match(r"[A-Za-z][A-Za-z0-9+.\-]*://", theirs))


def _method(code: str, title: str, explanation: str, remedy: str) -> Cause:
    return Cause(code, ERROR, title, explanation, remedy, METHOD)


def _path(code: str, title: str, explanation: str, remedy: str) -> Cause:
    return Cause(code, ERROR, title, explanation, remedy, PATH)


MISTAKES = (
    Mistake(
        _method(
            "method-not-upper-case",
            "The method is not in upper case",
            "The service signs the method in upper case, whatever your HTTP library calls it.",
            "Turn the method into upper case before you sign.",
        ),
        _method_in_other_case,
    ),
    Mistake(
        _path(
            "query-in-path",
            "The query stands in the path's line",
            "Path and query are two lines; what follows the question mark belongs to line 3.",
            "Cut the URL at its first question mark.",
        ),
        _query_appended,
        _has_query,
    ),
    Mistake(
        _path(
            "url-instead-of-path",
            "The path's line holds a URL",
            "Scheme and host are not signed, since what stands between you and the service may change them.",
            "Sign the path alone, from /v1 on.",
        ),
        _url,
        _is_url,
    ),
    Mistake(
        _path(
            "path-with-prefix",
            "The path is signed with what stands before /v1",
            "The first part of the path is of the base URL, and is not there any more where the service checks.",
            "Sign the path from /v1 on.",
        ),
        _with_prefix,
    ),
    Mistake(
        _path(
            "path-without-version",
            "/v1 is missing in the path",
            "The path is signed from /v1 on, which is part of it, also where your base URL ends with it.",
            "Put /v1 in front of the path that you sign.",
        ),
        _without_version,
    ),
    Mistake(
        _path(
            "path-slash-at-end",
            "The slash at the path's end is not the same",
            "What is signed ends otherwise than what is sent: /v1/ping and /v1/ping/ are two paths.",
            "Sign the path exactly as far as it is sent.",
        ),
        _with_other_end,
    ),
    Mistake(
        _path(
            "path-without-first-slash",
            "The path does not begin with a slash",
            "The slash before v1 is part of the path.",
            "Sign the path with its first slash.",
        ),
        _without_first_slash,
    ),
    Mistake(
        _path(
            "encoded-slash-kept",
            "An encoded slash was kept in the path",
            "The path is decoded before it is encoded again, by which %2F becomes a slash.",
            "Decode the whole path, then encode all of it but slashes.",
        ),
        _encoded_slash_kept,
    ),
    Mistake(
        _path(
            "path-slashes-encoded",
            "The slashes of the path are encoded",
            "In the path a slash stays as it is; only in the query it becomes %2F.",
            "Leave / out of what you encode in the path.",
        ),
        _slashes_encoded,
    ),
    Mistake(
        _path(
            "path-hex-in-lower-case",
            "Escapes of the path are in lower case",
            "Percent-encoding has upper-case hex digits in the canonical request: %C3, not %c3.",
            "Write the hex digits of escapes in upper case.",
        ),
        _lower_case_hex,
    ),
    Mistake(
        _path(
            "path-decoded",
            "The path is decoded instead of encoded",
            "It holds characters as they are that have to be percent-encoded.",
            "Percent-encode each byte but A-Z a-z 0-9 - . _ ~ and /; JavaScript's encodeURIComponent leaves ! ' ( ) *"
            " too.",
        ),
        _decoded,
    ),
    Mistake(
        _path(
            "path-encoded-twice",
            "The path is encoded twice",
            "The percent signs of its escapes were encoded once more, as %25.",
            "Encode the decoded path once.",
        ),
        _encoded_twice,
    ),
    Mistake(
        _path(
            "path-plus-for-space",
            "A space of the path is written as +",
            "That is how forms are encoded; in the canonical request a space is %20.",
            "Replace the function for forms by percent-encoding.",
        ),
        _plus_for_space,
    ),
    Mistake(
        _path(
            "path-encoded-otherwise",
            "The path is encoded by other rules",
            "Functions for URLs differ in what they leave as it is; here only A-Z a-z 0-9 - . _ ~ and / stay.",
            "Percent-encode every other byte, also ! ' ( ) * : @ and the like.",
        ),
        _reserved_left,
    ),
    Mistake(
        _path(
            "path-as-sent",
            "The path is signed as it was sent",
            "A URL may be written in more than one way, so the path is decoded and encoded again before it is signed.",
            "Decode the path, then percent-encode each byte but A-Z a-z 0-9 - . _ ~ and /.",
        ),
        _as_sent,
    ),
)

DIFFERENT = (
    _method(
        "method-differs",
        "The methods differ",
        "The request was sent with another method than was signed.",
        "Sign the method that is sent; mind a redirect or a library that changes it.",
    ),
    _path(
        "path-differs",
        "The paths differ",
        "The path that was signed is not the one that was sent, in no way that is known here.",
        "Look at the first byte that differs, and sign the path of the very URL that you send.",
    ),
)
