"""Why a signature was refused, for a sandbox partner: contract, section 11.

The text that was signed is searched for: the canonical request with one usual mistake. Neither the secret nor the right
signature is in the result.
"""

import base64
import hmac
import json
import re
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, timedelta
from functools import partial
from itertools import product
from urllib.parse import quote, quote_plus, unquote

from core.formats import parse_timestamp
from partners.authentication import signatures
from partners.authentication.signature_authentication import AuthenticationFailure, SignatureRefusedError, SignedRequest
from partners.models import SECRET_PREFIXES, Mode

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
    "signatureFormat": "The signature is not 64 hex digits. Send the HMAC-SHA256 as hexdigest() writes it, without a"
    " label or quotation marks.",
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
}
LINES = ("method", "path", "query", "timestamp", "idempotencyKey", "body")
CAUSES = {*_KNOWN.values(), *RULES, "unknown"}
_NO_BODY = "The request has no body. Look for a redirect or a library that drops it, and send the bytes that you hash."
_NOT_FOUND = (
    "The signature fits none of the likely mistakes under this key's secret: it was made with another secret, such as a"
    " live one (a test secret begins with psi_test_secret_), or for another text. Compare canonicalRequest, byte for"
    " byte, with the text that your program signed."
)
# Nothing is searched for if path and query are longer, and no larger JSON is serialised again.
MAX_CANONICAL, MAX_JSON = 4096, 16 * 1024
# How many units of its precision the signed time is searched for around the one sent.
MAX_STEPS = 20
# The mistake that makes a text, and the text.
_Form = tuple[str, str]


def explain(request: SignedRequest, refusal: SignatureRefusedError, secret: str) -> tuple[str, str]:
    """The cause of a refusal, and what to do in words. secret: of the request's key. Raises NotUtf8Error."""
    if cause := _KNOWN.get(refusal.failure):
        return cause, f"{refusal.message} {RULES.get(cause, '')}".rstrip()
    signature = request.header("HTTP_X_REQUEST_SIGNATURE") or ""
    if not re.fullmatch("[0-9a-fA-F]{64}", signature):
        return "signatureFormat", RULES["signatureFormat"]
    right = request.canonical_request(request.header("HTTP_X_REQUEST_TIMESTAMP") or "")
    if len(right) > MAX_CANONICAL:
        return "unknown", _NOT_FOUND
    return _search(request, right, secret, bytes.fromhex(signature))


def _search(request: SignedRequest, right: str, secret: str, signature: bytes) -> tuple[str, str]:
    for how, key in _wrong_secrets(secret, request.header("HTTP_X_API_KEY") or ""):
        if hmac.compare_digest(hmac.digest(key, right.encode(), "sha256"), signature):
            return "secret", f"The signature was made with {how}. {RULES['secret']}"
    for cause, title, text in _wrong_texts(request, right.split("\n")):
        signed = hmac.digest(secret.encode(), text.encode(errors="replace"), "sha256")
        if text != right and hmac.compare_digest(signed, signature):
            return cause, f"{title}. {RULES[cause]}"
    if request.method in {"POST", "PATCH"} and not request.body_bytes:
        return "body", _NO_BODY
    return "unknown", _NOT_FOUND


def _wrong_secrets(secret: str, api_key: str) -> Iterator[tuple[str, bytes]]:
    bare = secret.removeprefix(SECRET_PREFIXES[Mode.SANDBOX])
    yield "an empty secret", b""
    yield "the API key in place of the secret", api_key.encode()
    yield "the secret without its prefix", bare.encode()
    yield "the secret decoded from Base64", base64.urlsafe_b64decode(bare + "=" * (-len(bare) % 4))
    for form in ("{}\n", "{}\r\n", "{} ", "'{}'", '"{}"', "\ufeff{}"):
        yield f"characters around the secret: {form.format('…')!r}", form.format(secret).encode()


def _wrong_texts(request: SignedRequest, lines: list[str]) -> Iterator[tuple[str, str, str]]:
    """Yield causes, mistakes, and the texts that they make."""
    for separator in ("\r\n", "\\n", "", " ", "|"):
        yield "lineBreaks", f"The lines are joined by {separator!r}, not by '\\n'", separator.join(lines)
    for ending in ("\n", "\r\n"):
        yield "lineBreaks", f"The last line ends with {ending!r}", ending.join((*lines, ""))
    for index, name in enumerate(LINES):
        others = [*lines[:index], *lines[index + 1 :]]
        for kept in (others, filter(None, others)):
            yield name if lines[index] else "lineBreaks", f"Line {index + 1} is missing: {name}", "\n".join(kept)
    _, path, query, timestamp, key, digest = lines
    streams = (
        (("The method is in lower case", lines[0].lower()),),
        _paths(request, path, query),
        _queries(request, query),
        _timestamps(timestamp),
        (("The Idempotency-Key is not signed as it was sent", form) for form in ("", key.lower(), key.upper(), "None")),
        _digests(request.body_bytes, digest),
    )
    for index, forms in enumerate(streams):
        for title, form in forms:
            # Under a path with the query line 3 may be empty.
            for third in (query, "") if index == 1 and "?" in form else (query,):
                changed = [*lines[:2], third, *lines[3:]]
                changed[index] = form
                yield LINES[index], title, "\n".join(changed)


def _paths(request: SignedRequest, path: str, query: str) -> Iterator[_Form]:
    decoded, host = request.path_bytes.decode(), request.header("HTTP_HOST")
    sent = request.query_bytes.decode(errors="replace")
    for scheme, target in product(("", f"https://{host}", f"http://{host}"), ("", f"?{query}", f"?{sent}")):
        yield "The path line is a URL, or has the query", f"{scheme}{path}{target}"
    yield "The path has no /v1", path.removeprefix("/v1") or "/"
    yield "The slash at the end of the path differs", path[:-1] if path.endswith("/") else f"{path}/"
    yield "The path is decoded instead of encoded", decoded
    yield "The path is encoded twice", quote(path)
    # As encodeURIComponent leaves them, and RFC 3986 within a path.
    for safe in ("/!'()*", "/!$&'()*+,;=:@", ""):
        form = quote(decoded, safe=safe)
        yield from (("The path is encoded by other rules", one) for one in (form, _lower_hex(form)))
    yield "The path has lower-case hex digits", _lower_hex(path)
    yield "The path has + for a space", path.replace("%20", "+")


def _queries(request: SignedRequest, query: str) -> Iterator[_Form]:
    sent, pairs = request.query_bytes.decode(errors="replace"), signatures.query_pairs(request.query_bytes)
    encode = partial(quote, safe="")
    yield "The query is not signed", ""
    yield "The query is signed as it was sent", sent
    yield from (("The query begins with a question mark", f"?{one}") for one in (query, sent))
    yield "The query is decoded instead of encoded", unquote(sent)
    yield "The query has lower-case hex digits", _lower_hex(query)
    for title, function in (
        ("The query is not sorted", encode),
        ("The query is decoded instead of encoded", str),
        ("The query has + for a space", quote_plus),
        ("A slash of the query is not encoded", quote),
        ("The query is encoded as by encodeURIComponent", partial(quote, safe="!'()*")),
        ("The query is encoded twice", lambda text: encode(encode(text))),
    ):
        others = [f"{function(name)}={function(value)}" for name, value in pairs]
        yield from ((title, "&".join(one)) for one in (others, sorted(others)))
    by_name = sorted(pairs, key=lambda pair: pair[0])
    yield "The pairs are sorted by name alone", "&".join(f"{encode(name)}={encode(value)}" for name, value in by_name)
    yield "A parameter without a value is not signed", "&".join(one for one in query.split("&") if one[-1:] != "=")


def _lower_hex(text: str) -> str:
    return re.sub(r"%[0-9A-F]{2}", lambda match: match[0].lower(), text)


def _timestamps(sent: str) -> Iterator[_Form]:
    signed_at = parse_timestamp(sent).astimezone(UTC)
    for factor in (1, 1000):
        yield "The timestamp is signed as a number", str(int(signed_at.timestamp() * factor))
    for zone in ("+00:00", "Z", ""):
        for timespec, unit in (("seconds", 1_000_000), ("milliseconds", 1_000), ("microseconds", 1)):
            for step in range(-MAX_STEPS, MAX_STEPS + 1):
                near = (signed_at + timedelta(microseconds=unit * step)).isoformat(timespec=timespec)
                yield "The signed time differs from the header", near.removesuffix("+00:00") + zone


def _digests(body: bytes, digest: str) -> Iterator[_Form]:
    yield "The body is not hashed", signatures.body_digest(b"")
    yield "The body digest is in upper case", digest.upper()
    yield "The body digest is Base64", base64.b64encode(bytes.fromhex(digest)).decode()
    yield "Line 6 is the body instead of its digest", body.decode(errors="replace")
    others = [("The hashed body ends differently", body + b"\n"), ("The hashed body ends differently", body.strip())]
    if not body:
        others = [("A placeholder is hashed, but there is no body", one) for one in (b"{}", b"null", b'""')]
    # Deep JSON is a RecursionError; a lone surrogate can be escaped, but not encoded.
    with suppress(ValueError, RecursionError):
        value = json.loads(body) if len(body) <= MAX_JSON else {}
        for separators, sort_keys, ascii_ in product((None, (",", ":")), (False, True), (True, False)):
            text = json.dumps(value, separators=separators, sort_keys=sort_keys, ensure_ascii=ascii_)
            others.append(("The JSON was serialised again", text.encode(errors="replace")))
    yield from ((title, signatures.body_digest(other)) for title, other in others)
