"""Requests, canonical requests, and the causes that the doctor names: one row for each mistake."""

import base64
import hashlib
import hmac
import json
from datetime import UTC, datetime
from typing import Any, NamedTuple

from partners.signing.diagnosis import diagnose

NOW = datetime(2026, 1, 15, 10, 30, 0, tzinfo=UTC)
TIMESTAMP = "2026-01-15T10:30:00Z"
API_KEY = "psi_key_" + "Ab3_-" * 8 + "xyz"
SIGNATURE = "09223d6293a9d4084ca1942fc814c50f1d659f4062f847b62e0dd6c0399c997c"
KEY = "3f1c2b7e-8d4a-4c55-9b1e-6a7f0e2d9c10"
BODY = '{"name": "Zoë/<b>", "amount": 1.0, "id": 7}'
LINES_OF_JSON = '{\n  "id": 7\n}'


def examine(request: str, canonical: str | None, *, clock_skew_seconds: int = 300) -> dict[str, Any]:
    """The diagnosis as JSON, at NOW."""
    return diagnose(request, canonical, now=NOW, clock_skew_seconds=clock_skew_seconds).as_json()


class Case(NamedTuple):
    """The pasted texts, and the causes of all levels."""

    name: str
    request: str
    canonical: str | None
    causes: set[str]


def raw(method: str = "GET", target: str = "/v1/ping", body: str = "", **headers: str | None) -> str:
    """A request in raw HTTP. headers: replace the usual ones by names with underscores; None leaves one out."""
    usual: dict[str, str | None] = {
        "Host": "partners.example",
        "X_Api_Key": API_KEY,
        "X_Request_Timestamp": TIMESTAMP,
        "X_Request_Signature": SIGNATURE,
    }
    if method in {"POST", "PATCH"}:
        usual |= {"Content_Type": "application/json", "Idempotency_Key": KEY}
    lines = [f"{name.replace('_', '-')}: {value}" for name, value in (usual | headers).items() if value is not None]
    return "\n".join([f"{method} {target} HTTP/1.1", *lines]) + f"\n\n{body}"


def right(request: str) -> list[str]:
    """The six lines of a request."""
    lines: list[str] = examine(request, None)["canonicalRequest"].split("\n")
    return lines


def signed(request: str, **lines: str) -> str:
    """The canonical request with lines replaced: method, path, query, timestamp, key, body."""
    names = ("method", "path", "query", "timestamp", "key", "body")
    return "\n".join(lines.get(name, line) for name, line in zip(names, right(request), strict=True))


def sha256(text: str | bytes) -> str:
    return hashlib.sha256(text if isinstance(text, bytes) else text.encode()).hexdigest()


def alone(name: str, *causes: str, **request: Any) -> Case:
    """A request without a canonical one."""
    return Case(name, raw(**request), None, set(causes))


def line(name: str, cause: str, request: str, **lines: str) -> Case:
    """A canonical request that is wrong in the lines given, for one cause."""
    return Case(name, request, signed(request, **lines), {cause})


GET = raw(target="/v1/users/caf%C3%A9~%20a/transactions?b=2&a=x%2Fy%3A%20z~!")
LIST = raw(target="/v1/users/u/transactions?limit=50&cursor=2026-01-15T10%3A30%3A00.123456Z")
POST = raw("POST", "/v1/users", BODY)
PING = raw()
FRACTION = raw(X_Request_Timestamp="2026-01-15T10:30:00.250Z")
PREFIXED = raw(target="/gateway/v1/ping?a=1")
SLASHED = raw(target="/v1/users/a%2Fb")
DOUBLED = raw(target="/v1/ping?a=1&b=&a=2")
COLON = raw(target="/v1/users/a%3Ab")
NO_KEY = raw("PATCH", "/v1/users/u", "{}", Idempotency_Key=None)


def hmac_of_ping(secret: bytes, separator: str = "\n") -> str:
    return hmac.digest(secret, joined(PING, separator).encode(), "sha256").hex()


def joined(request: str, separator: str) -> str:
    return separator.join(right(request))


def ordered(request: str, *order: int) -> str:
    lines = right(request)
    return "\n".join(lines[index] for index in order)


OF_LINES = [
    line("method in lower case", "method-not-upper-case", PING, method="get"),
    line("another method", "method-differs", PING, method="POST"),
    line("query after the path", "query-in-path", LIST, path=f"/v1/users/u/transactions?{right(LIST)[2]}"),
    Case(
        "query after the path, and not in its line",
        LIST,
        signed(LIST, path="/v1/users/u/transactions?limit=50", query=""),
        {"query-in-path"},
    ),
    line("URL", "url-instead-of-path", PING, path="https://partners.example/v1/ping"),
    line("host and path", "url-instead-of-path", PING, path="partners.example/v1/ping"),
    line("another URL", "url-instead-of-path", PING, path="https://elsewhere.example/v1/ping"),
    Case("prefix", PREFIXED, signed(PREFIXED, path="/gateway/v1/ping"), {"path-with-prefix", "path-prefix"}),
    line("no version", "path-without-version", PING, path="/ping"),
    line("slash at the end", "path-slash-at-end", PING, path="/v1/ping/"),
    line("no slash at the start", "path-without-first-slash", PING, path="v1/ping"),
    line("encoded slash", "encoded-slash-kept", SLASHED, path="/v1/users/a%2Fb"),
    line("slashes encoded", "path-slashes-encoded", PING, path="%2Fv1%2Fping"),
    line("path in lower hex", "path-hex-in-lower-case", GET, path="/v1/users/caf%c3%a9~%20a/transactions"),
    line("path decoded", "path-decoded", GET, path="/v1/users/café~ a/transactions"),
    line("path encoded twice", "path-encoded-twice", GET, path="/v1/users/caf%25C3%25A9~%2520a/transactions"),
    line("space as plus", "path-plus-for-space", GET, path="/v1/users/caf%C3%A9~+a/transactions"),
    line("tilde encoded", "path-encoded-otherwise", GET, path="/v1/users/caf%C3%A9%7E%20a/transactions"),
    line("colon decoded", "path-decoded", COLON, path="/v1/users/a:b"),
    line("path as sent", "path-as-sent", raw(target="/v1/%70ing"), path="/v1/%70ing"),
    line("another path", "path-differs", PING, path="/v1/pong"),
    line("no query", "query-not-signed", LIST, query=""),
    line("question mark", "query-question-mark", LIST, query=f"?{right(LIST)[2]}"),
    line("unsorted", "query-unsorted", LIST, query="limit=50&cursor=2026-01-15T10%3A30%3A00.123456Z"),
    line("sorted by name alone", "query-sorted-otherwise", raw(target="/v1/ping?a=2&b=1&a=1"), query="a=2&a=1&b=1"),
    line(
        "query in lower hex", "query-hex-in-lower-case", LIST, query="cursor=2026-01-15T10%3a30%3a00.123456Z&limit=50"
    ),
    line("slash in query", "query-slash-left", GET, query="a=x/y%3A%20z~%21&b=2"),
    line("plus in query", "query-plus-for-space", GET, query="a=x%2Fy%3A+z~%21&b=2"),
    line("query decoded", "query-decoded", LIST, query="cursor=2026-01-15T10:30:00.123456Z&limit=50"),
    line(
        "query decoded and unsorted",
        "query-decoded-and-unsorted",
        LIST,
        query="limit=50&cursor=2026-01-15T10:30:00.123456Z",
    ),
    line("query encoded twice", "query-encoded-twice", GET, query="a=x%252Fy%253A%2520z~%2521&b=2"),
    line(
        "query encoded whole",
        "query-encoded-whole",
        LIST,
        query="limit%3D50%26cursor%3D2026-01-15T10%253A30%253A00.123456Z",
    ),
    line("no equals sign", "query-empty-value-lost", DOUBLED, query="a=1&a=2&b"),
    line("one of two", "query-repetition-lost", DOUBLED, query="a=2&b="),
    line("encodeURIComponent", "query-encoded-otherwise", GET, query="a=x%2Fy%3A%20z~!&b=2"),
    line("query as sent", "query-as-sent", raw(target="/v1/ping?b=%61&&a"), query="b=%61&&a"),
    line("another query", "query-differs", LIST, query="limit=51"),
    line("no fraction", "timestamp-reformatted", FRACTION, timestamp="2026-01-15T10:30:00Z"),
    line("another zone", "timestamp-reformatted", PING, timestamp="2026-01-15T05:30:00-05:00"),
    line("Unix seconds", "timestamp-signed-as-number", PING, timestamp="1768473000"),
    line("no timestamp in the text", "timestamp-left-out", PING, timestamp=""),
    line("output of sha256sum", "body-digest-malformed", POST, body=f"{sha256(BODY)}  -"),
    line("clock asked twice", "timestamp-of-another-moment", PING, timestamp="2026-01-15T10:30:01.5Z"),
    line("a word for the time", "timestamp-differs", PING, timestamp="now"),
    line("key in upper case", "idempotency-key-case", POST, key=KEY.upper()),
    line("key not signed", "idempotency-key-left-out", POST, key=""),
    line("null for no key", "idempotency-key-word", NO_KEY, key="null"),
    line("key not sent", "idempotency-key-not-sent", NO_KEY, key=KEY),
    line("key without hyphens", "idempotency-key-reformatted", POST, key=KEY.replace("-", "")),
    line("another key", "idempotency-key-differs", POST, key="11111111-8d4a-4c55-9b1e-6a7f0e2d9c10"),
    line("digest in upper case", "body-digest-upper-case", POST, body=sha256(BODY).upper()),
    line("no digest", "body-digest-left-out", PING, body=""),
    line("empty body hashed", "body-not-hashed", POST, body=sha256("")),
    line("braces for nothing", "body-placeholder-hashed", PING, body=sha256("{}")),
    line("line feed more", "body-end-differs", POST, body=sha256(BODY + "\n")),
    Case(
        "CRLF in the body",
        raw("POST", "/v1/users", LINES_OF_JSON),
        signed(raw("POST", "/v1/users", LINES_OF_JSON), body=sha256(LINES_OF_JSON.replace("\n", "\r\n"))),
        {"body-line-ends-differ"},
    ),
    line("JSON of JSON", "body-serialised-twice", POST, body=sha256(json.dumps(BODY))),
    line("Latin-1", "body-encoded-otherwise", POST, body=sha256(BODY.encode("latin-1"))),
    line("hash of the hash", "body-hashed-twice", POST, body=sha256(sha256(BODY))),
    line(
        "digest in Base64",
        "body-digest-base64",
        POST,
        body=base64.b64encode(hashlib.sha256(BODY.encode()).digest()).decode(),
    ),
    line("body itself", "body-itself", POST, body=BODY),
    Case(
        "body of several lines itself",
        raw("POST", "/v1/users", LINES_OF_JSON),
        signed(raw("POST", "/v1/users", LINES_OF_JSON), body=LINES_OF_JSON),
        {"body-itself"},
    ),
    line("SHA-1", "body-other-hash", POST, body=hashlib.sha1(BODY.encode()).hexdigest()),
    line("MD5", "body-other-hash", POST, body=hashlib.md5(BODY.encode()).hexdigest()),
    line("SHA-512", "body-other-hash", POST, body=hashlib.sha512(BODY.encode()).hexdigest()),
    line("no digest at all", "body-digest-malformed", POST, body="UNSIGNED-PAYLOAD"),
    line("another body", "body-differs", POST, body=sha256("{}")),
    line("spaces", "spaces-around-line", PING, path="/v1/ping "),
    line("a quoted line", "line-in-quotes", PING, timestamp=f'"{TIMESTAMP}"'),
    line("a label", "line-with-label", PING, timestamp=f"X-Request-Timestamp: {TIMESTAMP}"),
    line("no-break space", "invisible-character", POST, key=f"{KEY}\u200b"),
]

SERIALISED = {
    "compact": '{"name":"Zoë/<b>","amount":1.0,"id":7}',
    "escaped": '{"name": "Zo\\u00eb/<b>", "amount": 1.0, "id": 7}',
    "sorted": '{"amount":1.0,"id":7,"name":"Zoë/<b>"}',
    "JavaScript": '{"name":"Zoë/<b>","amount":1,"id":7}',
    "PHP": '{"name":"Zo\\u00eb\\/<b>","amount":1.0,"id":7}',
    "Go": '{"amount":1,"id":7,"name":"Zoë/\\u003cb\\u003e"}',
    "indented": json.dumps(json.loads(BODY), indent=2, ensure_ascii=False),
}

OF_LAYOUT = [
    Case("right", POST, joined(POST, "\n"), {"canonical-right"}),
    Case("mark", POST, "\ufeff" + joined(POST, "\n"), {"byte-order-mark"}),
    Case("in quotes", POST, f'"{joined(POST, chr(10))}"', {"text-in-quotes"}),
    Case("a string of a program", POST, f'"{joined(POST, chr(92) + "n")}"', {"text-in-quotes", "line-feeds-escaped"}),
    Case("CRLF", POST, joined(POST, "\r\n"), {"crlf"}),
    Case("CRLF, ended", POST, joined(POST, "\r\n") + "\r\n", {"crlf", "line-feed-at-end"}),
    Case("CR", POST, joined(POST, "\r"), {"carriage-return"}),
    Case("bars", POST, joined(POST, "|"), {"joined-otherwise"}),
    Case("nothing between", POST, joined(POST, ""), {"joined-otherwise"}),
    Case("line feed at the start", POST, "\n" + joined(POST, "\n"), {"line-feed-at-start"}),
    Case("line feed at the end", POST, joined(POST, "\n") + "\n", {"line-feed-at-end"}),
    Case("query's line missing", POST, ordered(POST, 0, 1, 3, 4, 5), {"empty-line-missing"}),
    Case("both empty lines missing", PING, ordered(PING, 0, 1, 3, 5), {"empty-line-missing"}),
    Case("timestamp's line missing", POST, ordered(POST, 0, 1, 2, 4, 5), {"line-missing"}),
    Case("nothing but a method", POST, "POST", {"line-missing", "empty-line-missing"}),
    Case("timestamp first", POST, ordered(POST, 3, 0, 1, 2, 4, 5), {"wrong-line-order"}),
    Case("two lines changed about", LIST, ordered(LIST, 0, 2, 1, 3, 4, 5), {"wrong-line-order"}),
    Case("another order, no empty lines", PING, ordered(PING, 3, 0, 1, 5), {"wrong-line-order", "empty-line-missing"}),
    Case("a seventh line", POST, joined(POST, "\n") + "\npartners.example", {"too-many-lines"}),
    Case("host in between", POST, "POST\npartners.example\n" + ordered(POST, 1, 2, 3, 4, 5), {"too-many-lines"}),
    Case(
        "two mistakes at once",
        POST,
        signed(POST, method="post", body=sha256(SERIALISED["compact"])).replace("\n", "\r\n"),
        {"crlf", "method-not-upper-case", "body-serialised-again"},
    ),
    Case(
        "a mistake beside a missing line",
        LIST,
        "GET\n/v1/users/u/transactions\nlimit=50&cursor=2026-01-15T10%3A30%3A00.123456Z\n" + ordered(LIST, 3, 5),
        {"query-unsorted", "empty-line-missing"},
    ),
    Case("API key among the lines", PING, f"{API_KEY}\n" + joined(PING, "\n"), {"api-key-elsewhere", "too-many-lines"}),
    *(
        Case(f"JSON {name}", POST, signed(POST, body=sha256(text)), {"body-serialised-again"})
        for name, text in SERIALISED.items()
    ),
]

_BYTES = bytes.fromhex(SIGNATURE)

OF_REQUESTS = [
    alone("all well", "well-formed"),
    alone("no key", "api-key-missing", X_Api_Key=None),
    alone("key in quotes", "api-key-quoted", X_Api_Key=f'"{API_KEY}"'),
    alone("key cut", "api-key-malformed", X_Api_Key=API_KEY[:-1]),
    alone("no timestamp", "timestamp-missing", X_Request_Timestamp=None),
    alone("timestamp in quotes", "timestamp-quoted", X_Request_Timestamp=f"'{TIMESTAMP}'"),
    alone("Unix time", "timestamp-is-number", X_Request_Timestamp="1768473000"),
    alone("no zone", "timestamp-without-zone", X_Request_Timestamp="2026-01-15T10:30:00"),
    alone("space for T", "timestamp-with-space", X_Request_Timestamp="2026-01-15 10:30:00Z"),
    alone("date of HTTP", "timestamp-of-http", X_Request_Timestamp="Thu, 15 Jan 2026 10:30:00 GMT"),
    alone("no such offset", "timestamp-malformed", X_Request_Timestamp="Mon, 01 Jan 2024 00:00:00 +99999999999999"),
    alone("no such year", "timestamp-malformed", X_Request_Timestamp="Mon, 1 Jan 99999999999 00:00:00 GMT"),
    alone("no such day", "timestamp-malformed", X_Request_Timestamp="2026-02-30T10:30:00Z"),
    alone("Toronto's time", "local-time-as-utc", "well-formed", X_Request_Timestamp="2026-01-15T05:30:20Z"),
    alone("India's time", "local-time-ahead", X_Request_Timestamp="2026-01-15T16:00:00Z"),
    alone("clock ahead", "clock-ahead", X_Request_Timestamp="2026-01-15T10:35:01Z"),
    alone("clock behind", "clock-behind", "well-formed", X_Request_Timestamp="2026-01-15T10:24:59Z"),
    alone("years ago", "clock-behind", "well-formed", X_Request_Timestamp="2020-01-15T10:30:00Z"),
    alone("as far off as allowed", "well-formed", X_Request_Timestamp="2026-01-15T10:35:00Z"),
    alone("no signature", "signature-missing", X_Request_Signature=None),
    alone("signature in quotes", "signature-quoted", X_Request_Signature=f'"{SIGNATURE}"'),
    alone("signature with label", "signature-labelled", X_Request_Signature=f"sha256={SIGNATURE}"),
    alone("signature in Base64", "base64-instead-of-hex", X_Request_Signature=base64.b64encode(_BYTES).decode()),
    alone("Base64 of hex", "base64-instead-of-hex", X_Request_Signature=base64.b64encode(SIGNATURE.encode()).decode()),
    alone(
        "Base64 for URLs", "base64-instead-of-hex", X_Request_Signature=base64.urlsafe_b64encode(_BYTES).decode()[:-1]
    ),
    alone("SHA-1's length", "signature-of-other-length", X_Request_Signature=SIGNATURE[:40]),
    alone("no hex", "signature-malformed", X_Request_Signature="signed"),
    alone("signature in upper case", "well-formed", X_Request_Signature=SIGNATURE.upper()),
    alone("an empty secret", "signed-with-empty-secret", X_Request_Signature=hmac_of_ping(b"")),
    alone("the API key as secret", "signed-with-api-key", X_Request_Signature=hmac_of_ping(API_KEY.encode())),
    alone("an empty secret, and CRLF", "signed-with-empty-secret", X_Request_Signature=hmac_of_ping(b"", "\r\n")),
    alone("no HMAC", "hash-instead-of-hmac", X_Request_Signature=sha256("\n".join(right(PING)))),
    alone("no /v1", "not-under-v1", target="/v2/ping"),
    alone("prefix alone", "path-prefix", "well-formed", target="/gateway/v1/ping"),
    alone("path not UTF-8", "path-not-utf8", target="/v1/users/%FF"),
    alone("query not UTF-8", "query-not-utf8", target="/v1/ping?a=%C3"),
    alone("space in the URL", "target-not-encoded", target="/v1/users/a b"),
    alone("path encoded twice", "path-sent-encoded-twice", target="/v1/users/a%252Fb"),
    alone("query encoded twice", "query-sent-encoded-twice", target="/v1/ping?a=%253A"),
    alone("dots", "dot-segment", target="/v1/users/../ping"),
    alone("fragment", "well-formed", target="/v1/ping#top"),
    alone("key in the URL", "api-key-elsewhere", target=f"/v1/ping?key={API_KEY}"),
    Case(
        "header twice",
        PING.replace("\n\n", f"\nX-Request-Signature: {SIGNATURE}\n\n"),
        None,
        {"header-repeated", "signature-malformed"},
    ),
    alone("a typographic dash", "header-not-ascii", "timestamp-malformed", X_Request_Timestamp="2026‑01‑15T10:30:00Z"),
    Case("underscores", PING.replace("X-Api-Key", "X_Api_Key"), None, {"header-underscore"}),
    alone("empty key", "idempotency-key-empty", Idempotency_Key=""),
    alone("no UUID", "idempotency-key-not-uuid", Idempotency_Key="1", method="POST", body="{}"),
    alone("key with GET", "well-formed", Idempotency_Key=KEY),
    alone("no content type", "content-type-missing", method="POST", body="{}", Content_Type=None),
    alone("a form", "content-type-other", method="POST", body="{}", Content_Type="text/plain"),
    alone("charset said", "well-formed", method="POST", body="{}", Content_Type="application/json; charset=utf-8"),
    alone("GET with a body", "body-without-write", body="{}"),
    alone("too large", "body-too-large", method="POST", body='"' + "x" * 65_535 + '"'),
    alone("no body", "body-missing", method="POST"),
    alone("marked body", "body-byte-order-mark", method="POST", body="\ufeff{}"),
    alone("no JSON", "body-not-json", method="POST", body="{"),
    alone("line feed after", "body-ends-with-line-feed", "well-formed", method="POST", body="{}\n"),
    alone("several lines", "well-formed", method="POST", body=LINES_OF_JSON),
    alone("no colon", "header-unreadable", target='/v1/ping HTTP/1.1\n{"a"}\nX: y'),
    alone(
        "restored CRLF",
        "body-restored",
        "well-formed",
        method="POST",
        body=LINES_OF_JSON,
        Content_Length="15",
    ),
    alone("restored end", "body-restored", "well-formed", method="POST", body="{}\n", Content_Length="2"),
    alone("another length", "content-length-differs", method="POST", body="{}", Content_Length="9"),
    alone("chunks", "well-formed", method="POST", body="{}", Transfer_Encoding="chunked"),
]

_SIGNED = f"-H 'X-Api-Key: {API_KEY}' -H 'X-Request-Timestamp: {TIMESTAMP}' -H 'X-Request-Signature: {SIGNATURE}'"

OF_CURL = [
    Case("curl", f"curl https://partners.example/v1/ping {_SIGNED}", None, {"well-formed"}),
    Case("curl -d", f"curl https://partners.example/v1/users {_SIGNED} -d '{{}}'", None, {"content-type-other"}),
    Case(
        "a file",
        f"curl https://partners.example/v1/users {_SIGNED} --json @body.json",
        None,
        {"file-not-read", "body-missing"},
    ),
    Case("a form's part", f"curl https://partners.example/v1/ping -X GET {_SIGNED} -F a=b", None, {"form-not-read"}),
    Case("a variable", f'curl "$BASE/v1/ping" {_SIGNED}', None, {"variable-not-known"}),
    Case("an ampersand", f"curl {_SIGNED} https://partners.example/v1/ping?a=1&b=2", None, {"url-cut"}),
]

CASES = [*OF_LINES, *OF_LAYOUT, *OF_REQUESTS, *OF_CURL]
