"""Wrong signatures as programs make them: each line of the canonical request wrong in each usual way."""

import base64
import hashlib
import hmac
import json
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any, NamedTuple
from urllib.parse import quote, unquote, unquote_to_bytes, urlencode

from partners.authentication import signatures


class Sent(NamedTuple):
    """A request, and what its program knows."""

    method: str
    target: str
    timestamp: str
    key: str
    body: bytes
    api_key: str
    secret: str

    @property
    def lines(self) -> list[str]:
        """The right canonical request."""
        path, _, query = self.target.partition("?")
        decoded = unquote_to_bytes(path)
        return signatures.canonical_request(
            self.method, decoded, query.encode(), self.timestamp, self.key, self.body
        ).split("\n")


# What is sent as X-Request-Signature.
Signer = Callable[[Sent], str]


class Mistake(NamedTuple):
    """A mistake, its cause, and how it signs. of: the request that it shows in."""

    name: str
    cause: str
    sign: Signer
    of: str = "write"


METHOD, PATH, QUERY, TIMESTAMP, KEY, BODY = range(6)
PAIRS = [("b", "2"), ("a", "x/y: z~!"), ("c", "")]
PATH_TEXT = "/v1/users/café (a)!"
BODY_TEXT = '{"firstName": "Zoë", "city": "a/b"}'
TARGET = "/v1/users/caf%C3%A9%20%28a%29%21?b=2&a=x%2Fy%3A%20z~%21&c="
# A name that is there twice, and one without a value.
REPEATED_TARGET = "/v1/users?b=2&a=2&b=&a=1&B=3"
LIST_TARGET = "/v1/users?limit=50&cursor=2026-01-15T10%3A30%3A00.123456Z"


def sign(sent: Sent, text: str, secret: bytes | None = None) -> str:
    return hmac.new(sent.secret.encode() if secret is None else secret, text.encode(), "sha256").hexdigest()


def line(name: str, cause: str, index: int, wrong: str | Callable[[Sent], str], of: str = "write") -> Mistake:
    """A line that is wrong."""

    def signer(sent: Sent) -> str:
        lines = sent.lines
        lines[index] = wrong if isinstance(wrong, str) else wrong(sent)
        return sign(sent, "\n".join(lines))

    return Mistake(name, cause, signer, of)


def text(name: str, cause: str, wrong: Callable[[list[str]], str], of: str = "write") -> Mistake:
    """A wrong layout of the right lines."""
    return Mistake(name, cause, lambda sent: sign(sent, wrong(sent.lines)), of)


def key(name: str, cause: str, wrong: Callable[[Sent], bytes]) -> Mistake:
    """The right text under a wrong key."""
    return Mistake(name, cause, lambda sent: sign(sent, "\n".join(sent.lines), wrong(sent)))


def right(sent: Sent) -> str:
    return sign(sent, "\n".join(sent.lines))


def sha256(body: str | bytes) -> str:
    return hashlib.sha256(body.encode() if isinstance(body, str) else body).hexdigest()


def moved(milliseconds: int) -> Callable[[Sent], str]:
    def later(sent: Sent) -> str:
        moment = datetime.fromisoformat(sent.timestamp) + timedelta(milliseconds=milliseconds)
        return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")

    return later


def seconds(sent: Sent, factor: int = 1) -> str:
    return str(int(datetime.fromisoformat(sent.timestamp).timestamp() * factor))


def without_fraction(sent: Sent) -> str:
    return sent.timestamp[:19] + "Z"


def bare(secret: str) -> str:
    return secret.removeprefix("psi_test_secret_")


OF_LINES = [
    line("method in lower case", "method", METHOD, "patch"),
    line("path decoded", "path", PATH, PATH_TEXT),
    line("path by quote", "path", PATH, lambda s: quote(PATH_TEXT, safe="/!()")),
    line("path by quote_plus", "path", PATH, lambda s: s.lines[PATH].replace("%20", "+")),
    line("path with lower hex", "path", PATH, "/v1/users/caf%c3%a9%20%28a%29%21"),
    line("path encoded twice", "path", PATH, lambda s: quote(s.lines[PATH])),
    line("path with query", "path", PATH, lambda s: s.target),
    line("path with query in a list", "path", PATH, LIST_TARGET, of="list"),
    line("path of urlsplit without netloc", "path", PATH, lambda s: f"https://testserver{s.lines[PATH]}"),
    line("full URL", "path", PATH, lambda s: f"https://testserver{s.target}"),
    line("full URL without TLS", "path", PATH, lambda s: f"http://testserver{s.target}"),
    line("path with lower hex and parentheses", "path", PATH, "/v1/users/caf%c3%a9%20(a)!"),
    line("path without version", "path", PATH, lambda s: s.lines[PATH].removeprefix("/v1")),
    line("path with a slash", "path", PATH, lambda s: s.lines[PATH] + "/"),
    line("no query", "query", QUERY, ""),
    line("no query of a list", "query", QUERY, "", of="list"),
    line("query with a question mark", "query", QUERY, lambda s: "?" + s.lines[QUERY]),
    line("query unsorted", "query", QUERY, "limit=50&cursor=2026-01-15T10%3A30%3A00.123456Z", of="list"),
    line("query as sent", "query", QUERY, lambda s: s.target.partition("?")[2]),
    line("query decoded", "query", QUERY, "a=x/y: z~!&b=2&c="),
    line("query decoded and unsorted", "query", QUERY, lambda s: unquote(s.target.partition("?")[2])),
    line("query by urlencode", "query", QUERY, lambda s: urlencode(sorted(PAIRS))),
    line("query with a slash", "query", QUERY, "a=x/y%3A%20z~%21&b=2&c="),
    line("query with lower hex", "query", QUERY, "a=x%2fy%3a%20z~%21&b=2&c="),
    line("query encoded twice", "query", QUERY, "cursor=2026-01-15T10%253A30%253A00.123456Z&limit=50", of="list"),
    line("query without the empty value", "query", QUERY, lambda s: s.lines[QUERY].removesuffix("&c=")),
    line("timestamp in seconds", "timestamp", TIMESTAMP, seconds),
    line("timestamp in milliseconds", "timestamp", TIMESTAMP, lambda s: seconds(s, 1000)),
    line("timestamp without fraction", "timestamp", TIMESTAMP, without_fraction),
    line("timestamp with an offset", "timestamp", TIMESTAMP, lambda s: s.timestamp.replace("Z", "+00:00")),
    line("timestamp without zone", "timestamp", TIMESTAMP, lambda s: s.timestamp.removesuffix("Z")),
    line("clock read twice", "timestamp", TIMESTAMP, moved(2)),
    line("key left out", "idempotencyKey", KEY, ""),
    line("key in upper case", "idempotencyKey", KEY, lambda s: s.key.upper()),
    line("None for no key", "idempotencyKey", KEY, "None", of="list"),
    line("body not hashed", "body", BODY, sha256("")),
    line("digest in upper case", "body", BODY, lambda s: s.lines[BODY].upper()),
    line("digest in Base64", "body", BODY, lambda s: base64.b64encode(hashlib.sha256(s.body).digest()).decode()),
    line("body itself", "body", BODY, lambda s: s.body.decode()),
    line("body with a line feed", "body", BODY, lambda s: sha256(s.body + b"\n")),
    line("json.dumps", "body", BODY, lambda s: sha256(json.dumps(json.loads(s.body)))),
    line("JSON compact", "body", BODY, lambda s: sha256(json.dumps(json.loads(s.body), separators=(",", ":")))),
    line("JSON sorted", "body", BODY, lambda s: sha256(json.dumps(json.loads(s.body), sort_keys=True))),
    line("{} for no body", "body", BODY, sha256("{}"), of="list"),
    line("path with the query and an empty line 3", "path", PATH, lambda s: f"{s.lines[PATH]}?{s.lines[QUERY]}"),
    line(
        "query encoded twice and unsorted",
        "query",
        QUERY,
        "limit=50&cursor=2026-01-15T10%253A30%253A00.123456Z",
        of="list",
    ),
    line("query by encodeURIComponent", "query", QUERY, "a=x%2Fy%3A%20z~!&b=2&c="),
    line("query sorted by name alone", "query", QUERY, "B=3&a=2&a=1&b=2&b=", of="repeated"),
]
# The requests whose mistakes show in them alone, as changes to the write.
REQUESTS: dict[str, dict[str, Any]] = {
    "write": {},
    "list": {"method": "GET", "target": LIST_TARGET, "key": "", "body": b""},
    "repeated": {"method": "GET", "target": REPEATED_TARGET, "key": "", "body": b""},
}


def surrounded(form: str) -> Callable[[Sent], bytes]:
    return lambda sent: form.format(sent.secret).encode()


def without(index: int) -> Callable[[list[str]], str]:
    return lambda lines: "\n".join([*lines[:index], *lines[index + 1 :]])


def without_empty(index: int) -> Callable[[list[str]], str]:
    return lambda lines: "\n".join(filter(None, [*lines[:index], *lines[index + 1 :]]))


OF_TEXTS = [
    text("no line of the method", "method", without(METHOD)),
    text("no line of the path", "path", without(PATH)),
    text("no line of the query", "query", without(QUERY)),
    text("no line of the timestamp", "timestamp", without(TIMESTAMP)),
    text("no line of the key", "idempotencyKey", without(KEY)),
    text("no line of the digest", "body", without(BODY)),
    text("no line of the query in a list", "query", without(QUERY), of="list"),
    text("no line of the timestamp in a list", "timestamp", without(TIMESTAMP), of="list"),
    text("no lines of the digest and the key", "body", without_empty(BODY), of="list"),
    text("CRLF", "lineBreaks", "\r\n".join),
    text("a line feed at the end", "lineBreaks", lambda lines: "\n".join(lines) + "\n"),
    text("escaped line feeds", "lineBreaks", "\\n".join),
    text("nothing between", "lineBreaks", "".join),
    text("CRLF, and at the end", "lineBreaks", lambda lines: "\r\n".join(lines) + "\r\n"),
    text("spaces between", "lineBreaks", " ".join),
    text("bars between", "lineBreaks", "|".join),
    text("empty lines filtered", "lineBreaks", lambda lines: "\n".join(filter(None, lines)), of="list"),
]
OF_KEYS = [
    key("an empty secret", "secret", lambda s: b""),
    key("the API key", "secret", lambda s: s.api_key.encode()),
    key("no prefix", "secret", lambda s: bare(s.secret).encode()),
    key("decoded", "secret", lambda s: base64.urlsafe_b64decode(bare(s.secret) + "=")),
    *(
        key(f"{surrounding!r} around the secret", "secret", surrounded(surrounding))
        for surrounding in ("{}\n", "{}\r\n", "{} ", "\ufeff{}", "'{}'", '"{}"')
    ),
]
OF_FORM = [
    Mistake("signature in Base64", "signatureFormat", lambda s: base64.b64encode(bytes.fromhex(right(s))).decode()),
    Mistake("a label", "signatureFormat", lambda s: f"sha256={right(s)}"),
    Mistake("hex in Base64", "signatureFormat", lambda s: base64.b64encode(right(s).encode()).decode()),
    Mistake("quotes", "signatureFormat", lambda s: f'"{right(s)}"'),
    Mistake("cut", "signatureFormat", lambda s: right(s)[:40]),
    Mistake("not hex", "signatureFormat", lambda s: "signed"),
]
# Nothing in the request tells these apart.
UNTOLD = [
    key("secret of another key", "unknown", lambda s: b"psi_test_secret_" + b"x" * 43),
    line("another body", "unknown", BODY, sha256("another")),
    line("another path", "unknown", PATH, "/v1/users/another"),
    line("another value", "unknown", QUERY, "a=1&b=2&c="),
    line("another key", "unknown", KEY, "11111111-8d4a-4c55-9b1e-6a7f0e2d9c10"),
    line("key not sent", "unknown", KEY, "11111111-8d4a-4c55-9b1e-6a7f0e2d9c10", of="list"),
    line("prefix of a proxy", "unknown", PATH, lambda s: "/gateway" + s.lines[PATH]),
    line("a clock read long after", "unknown", TIMESTAMP, moved(4321)),
    Mistake("two lines wrong", "unknown", lambda s: sign(s, "\n".join(["patch", s.lines[1], "", *s.lines[3:]]))),
]
MISTAKES = [*OF_LINES, *OF_TEXTS, *OF_KEYS, *OF_FORM, *UNTOLD]
