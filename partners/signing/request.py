"""The pasted request and its canonical request: contract, section 3."""

import re
from collections.abc import Sequence
from urllib.parse import quote_from_bytes, unquote_to_bytes

from partners.signing import signatures
from partners.signing.causes import Finding

WRITES = frozenset({"POST", "PATCH"})
# The service refuses a larger body before it looks at the signature.
MAX_BODY_BYTES = 65_536
_VERSION_ROOT = re.compile(r"/v1(?=/|$)")


class PastedRequest:
    """A request, and the parts of it that matter to its signature.

    method: in upper case. origin: scheme and host, "" if unknown. target: path and query as sent,
    without fragment. findings: of its parsing. prefix: of the path, before `/v1`. pairs: of the query, decoded,
    in the order sent. is_utf8: whether path and query are UTF-8 when decoded; if not, canonical_lines
    are an approximation. body_text: "" if the body is not UTF-8.
    """

    def __init__(
        self,
        method: str,
        origin: str,
        target: str,
        headers: Sequence[tuple[str, str]],
        body: bytes = b"",
        findings: Sequence[Finding] = (),
    ) -> None:
        self.method, self.origin, self.target, self.headers, self.body = method, origin, target, headers, body
        self.findings = findings
        self._values: dict[str, list[str]] = {}
        for name, value in headers:
            self._values.setdefault(name.upper().replace("_", "-"), []).append(value)
        self.full_path, _, self.query = target.partition("?")
        root = _VERSION_ROOT.search(self.full_path)
        self.prefix = self.full_path[: root.start()] if root else ""
        self.path = self.full_path.removeprefix(self.prefix)
        self.decoded_path = unquote_to_bytes(self.path)
        self.api_key, self.signature = self.header("X-Api-Key"), self.header("X-Request-Signature")
        self.timestamp, self.idempotency_key = self.header("X-Request-Timestamp"), self.header("Idempotency-Key")
        self.body_text = body.decode() if is_utf8(body) else ""
        raw_query = self.query.encode()
        try:
            path, query = signatures.canonical_path(self.decoded_path), signatures.canonical_query(raw_query)
            self.pairs, self.is_utf8 = signatures.query_pairs(raw_query), True
        except signatures.NotUtf8Error:
            path = quote_from_bytes(self.decoded_path, safe="/")
            query = quote_from_bytes(raw_query, safe="%=&+")
            self.pairs, self.is_utf8 = [], False
        digest = signatures.body_digest(body)
        self.canonical_lines = (method, path, query, self.timestamp, self.idempotency_key, digest)

    def values(self, name: str) -> list[str]:
        """Return the values of the headers of this name; `_` and `-` are the same, as in WSGI."""
        return self._values.get(name.upper(), [])

    def header(self, name: str) -> str:
        """Return a header as the service gets it: several are joined by a comma; "" if there is none."""
        return ",".join(self.values(name))


def is_utf8(text: bytes) -> bool:
    """Return whether bytes are UTF-8."""
    return text.decode(errors="replace").encode() == text
