"""A request as its sender put it on the wire, as far as what was pasted shows it."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from urllib.parse import quote_from_bytes, unquote_to_bytes

from partners import signing
from partners.doctor.findings import Finding, NotUnderstoodError

# More than any server takes in a request's head.
LONGEST_LINE = 8_192

_ORIGIN = re.compile(r"([A-Za-z][A-Za-z0-9+.\-]*://)([^/?#]*)")
_VERSION_ROOT = re.compile(r"/v1(?=/|$)")


@dataclass(frozen=True)
class Sent:
    """A request. What credentials it holds is never part of its text.

    method: in upper case, as the service takes it. origin: scheme and host, "" where unknown.
    target: path and query as sent, without fragment. remarks: what was noticed in reading it.
    """

    method: str
    origin: str
    target: str
    headers: Sequence[tuple[str, str]] = field(repr=False)
    body: bytes = field(repr=False)
    remarks: Sequence[Finding] = ()

    def remarked(self, *remarks: Finding) -> "Sent":
        """The same request with more remarks."""
        return replace(self, remarks=(*self.remarks, *remarks))

    def with_body(self, body: bytes) -> "Sent":
        """The same request with another body."""
        return replace(self, body=body)

    def values(self, name: str) -> list[str]:
        """The values of all headers of this name, whatever its letter case, in the order sent."""
        return self._headers.get(_as_wsgi(name), [])

    def header(self, name: str) -> str:
        """A header's value as the service gets it: several are joined by a comma; "" where there is none."""
        return ",".join(self.values(name))

    @cached_property
    def _headers(self) -> Mapping[str, list[str]]:
        found: dict[str, list[str]] = {}
        for name, value in self.headers:
            found.setdefault(_as_wsgi(name), []).append(value)
        return found

    @property
    def full_path(self) -> str:
        """The path as sent, with what stands before `/v1`."""
        return self.target.partition("?")[0]

    @cached_property
    def prefix(self) -> str:
        """What stands before `/v1` in the path; "" where nothing does, or there is no `/v1`."""
        root = _VERSION_ROOT.search(self.full_path)
        return self.full_path[: root.start()] if root else ""

    @property
    def path(self) -> str:
        """The path as sent, from `/v1` on."""
        return self.full_path.removeprefix(self.prefix)

    @property
    def query(self) -> str:
        """The query as sent, without the question mark."""
        return self.target.partition("?")[2]

    @property
    def decoded_path(self) -> bytes:
        """The path from `/v1` on, percent-decoded."""
        return unquote_to_bytes(self.path)

    @property
    def timestamp(self) -> str:
        """Line 4 of the canonical request."""
        return self.header("X-Request-Timestamp")

    @property
    def idempotency_key(self) -> str:
        """Line 5 of the canonical request."""
        return self.header("Idempotency-Key")

    @property
    def signature(self) -> str:
        """The signature as sent."""
        return self.header("X-Request-Signature")

    @cached_property
    def body_text(self) -> str | None:
        """The body as text; None where it is not UTF-8."""
        try:
            return self.body.decode()
        except UnicodeDecodeError:
            return None

    @cached_property
    def is_utf8(self) -> bool:
        """Whether path and query, decoded, are UTF-8; otherwise nothing can sign the request."""
        try:
            signing.canonical_path(self.decoded_path)
            signing.canonical_query(self.query.encode())
        except signing.NotUtf8Error:
            return False
        return True

    @cached_property
    def canonical_lines(self) -> tuple[str, ...]:
        """The six lines that are to be signed: contract, section 3.

        Where path or query is not UTF-8 there are none; these are then what comes nearest.
        """
        if self.is_utf8:
            text = signing.canonical_request(
                self.method,
                self.decoded_path,
                self.query.encode(),
                self.timestamp,
                self.idempotency_key,
                self.body,
            )
            return tuple(text.split("\n"))
        return (
            self.method,
            quote_from_bytes(self.decoded_path, safe="/"),
            quote_from_bytes(self.query.encode(), safe="%=&+"),
            self.timestamp,
            self.idempotency_key,
            signing.body_digest(self.body),
        )


def split_url(url: str) -> tuple[str, str]:
    """The origin of a URL, without a user's name and password, and its target, without the fragment."""
    match = _ORIGIN.match(url)
    scheme, host = match.groups() if match else ("", "")
    target = url[match.end() :] if match else url
    target = target.partition("#")[0]
    return scheme + host.rpartition("@")[2], target if target.startswith("/") else f"/{target}"


def require_short(*lines: str) -> None:
    """Raises NotUnderstoodError where a line of a request's head is longer than any server takes."""
    if any(len(line) > LONGEST_LINE for line in lines):
        raise NotUnderstoodError(f"A line before the body is longer than {LONGEST_LINE:,} characters: is it a request?")


def _as_wsgi(name: str) -> str:
    # As servers hand headers on: `_` and `-` are then the same.
    return name.strip().upper().replace("_", "-")
