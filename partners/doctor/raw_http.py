"""A request as HTTP writes it: request line, headers, an empty line, the body."""

import re
from collections.abc import Callable, Iterator
from itertools import dropwhile, takewhile

from partners.doctor import remarks
from partners.doctor.findings import Finding, NotUnderstoodError, counted
from partners.doctor.sent import Sent, require_short, split_url

METHOD = re.compile(r"[A-Za-z]{1,20}")

_TARGET = re.compile(r"/|https?://|[\w.\-]+(?::\d+)?/", re.IGNORECASE)
_EMPTY_LINE = re.compile(r"\r?\n\r?\n")
_TOKEN = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
_LOGGED = re.compile(r"[*>] ")
# What `curl -v` tells of the connection and the head, and how many bytes went.
_OF_CURL = re.compile(r"[*>]|[{}] \[")

# What pasting does to a body, and how to undo it.
_RESTORED: tuple[tuple[str, Callable[[bytes], bytes]], ...] = (
    ("without the line feed at its end", lambda body: body.removesuffix(b"\n").removesuffix(b"\r")),
    ("with CRLF at the ends of its lines", lambda body: body.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n")),
    (
        "with CRLF at the ends of its lines and none at its own",
        lambda body: body.replace(b"\r\n", b"\n").removesuffix(b"\n").replace(b"\n", b"\r\n"),
    ),
    ("with a line feed at its end", lambda body: body + b"\n"),
)


def read(text: str) -> Sent:
    """The request. Line ends before the body are LF or CRLF; the body is kept as it is. Raises NotUnderstoodError."""
    text = text.lstrip()
    if _LOGGED.match(text):
        text = _as_logged(text)
    empty = _EMPTY_LINE.search(text)
    head, body = (text[: empty.start()], text[empty.end() :]) if empty else (text, "")
    first, *others = (line.removesuffix("\r") for line in head.split("\n"))
    require_short(first, *others)
    method, url = _request_line(first)
    headers, unreadable = _headers(others)
    origin, target = split_url(url)
    sent = Sent(method, origin or _host(headers), target, headers, body.encode(), unreadable)
    if "#" in url:
        sent = sent.remarked(remarks.FRAGMENT_DROPPED.found())
    return _with_body_as_declared(sent)


def _as_logged(text: str) -> str:
    """What `curl -v` shows of a request: its head, behind `>`, and the body that somebody put below it."""
    sent = list(takewhile(lambda line: not line.startswith("<"), text.split("\n")))
    head = [line[2:] for line in sent if line.startswith(">")]
    rest = dropwhile(lambda line: not line.startswith(">"), sent)
    body = [line for line in rest if not _OF_CURL.match(line)]
    return "\n".join([*head, *([""] if head and head[-1].strip() else []), *body])


def _request_line(line: str) -> tuple[str, str]:
    method, _, rest = line.strip().partition(" ")
    url, _, version = rest.strip().rpartition(" ")
    if not version.startswith("HTTP/"):
        url = rest.strip()
    if not METHOD.fullmatch(method) or not _TARGET.match(url.strip()):
        raise NotUnderstoodError(
            "The first line is no request line, such as `GET /v1/ping HTTP/1.1`, and no curl command."
        )
    return method.upper(), url.strip()


def _headers(lines: list[str]) -> tuple[list[tuple[str, str]], list[Finding]]:
    headers, unreadable = [], []
    for number, line in enumerate(lines, start=2):
        name, colon, value = line.partition(":")
        if colon and _TOKEN.fullmatch(name):
            headers.append((name, value.strip(" \t\r")))
        elif line.strip():
            unreadable.append(remarks.HEADER_UNREADABLE.found(number=number))
    return headers, unreadable[:1]


def _host(headers: list[tuple[str, str]]) -> str:
    hosts = [value for name, value in headers if name.lower() == "host"]
    return f"https://{hosts[0]}" if hosts else ""


def _with_body_as_declared(sent: Sent) -> Sent:
    """The body as long as Content-Length says, where undoing what pasting does to a body makes it so."""
    if "chunked" in sent.header("Transfer-Encoding").lower():
        return sent.remarked(remarks.CHUNKED.found())
    declared = sent.header("Content-Length")
    if not declared or declared == str(len(sent.body)):
        return sent
    for how, body in _restored(sent.body):
        if declared == str(len(body)):
            return sent.with_body(body).remarked(
                remarks.BODY_RESTORED.found(how=how, length=counted(len(body), "byte"))
            )
    differs = remarks.CONTENT_LENGTH_DIFFERS.found(length=declared, bytes=counted(len(sent.body), "byte"))
    return sent.remarked(differs)


def _restored(body: bytes) -> Iterator[tuple[str, bytes]]:
    return ((how, restore(body)) for how, restore in _RESTORED)
