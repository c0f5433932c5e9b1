"""A request as it is signed, checked and answered: read once, from the bytes that were sent."""

from dataclasses import dataclass
from typing import Any

from django.core.handlers.wsgi import get_path_info
from django.http import HttpRequest
from django.utils.functional import cached_property

from partners import signing
from partners.api.errors import BadRequestError, BodyTooLargeError, UnsupportedMediaTypeError
from partners.api.json import BODY_LIMIT_BYTES

UTF_8 = frozenset({"utf-8", "utf8"})


@dataclass(eq=False)
class Received:
    """What a partner sent. Text of headers is exactly as sent; a header that is absent is None."""

    method: str
    decoded_path: bytes
    query: bytes
    body: bytes
    meta: dict[str, Any]

    def header(self, name: str) -> str | None:
        """A header's value by its WSGI name, such as HTTP_X_API_KEY."""
        value: str | None = self.meta.get(name)
        return value

    @cached_property
    def canonical_path(self) -> str:
        """Line 2 of the canonical request. Raises BadRequestError where the path is not UTF-8."""
        try:
            return signing.canonical_path(self.decoded_path)
        except signing.NotUtf8Error:
            raise BadRequestError("The path, percent-decoded, is not UTF-8.") from None

    @cached_property
    def canonical_query(self) -> str:
        """Line 3 of the canonical request. Raises BadRequestError where the query is not UTF-8."""
        try:
            return signing.canonical_query(self.query)
        except signing.NotUtf8Error:
            raise BadRequestError("The query, percent-decoded, is not UTF-8.") from None

    @cached_property
    def body_digest(self) -> str:
        """Line 6 of the canonical request."""
        return signing.body_digest(self.body)

    def canonical_request(self, timestamp: str) -> str:
        """The six lines that are signed. Raises BadRequestError where path or query is not UTF-8."""
        key = self.header("HTTP_IDEMPOTENCY_KEY") or ""
        lines = (self.method, self.canonical_path, self.canonical_query, timestamp, key, self.body_digest)
        return "\n".join(lines)

    def parameters(self) -> dict[str, list[str]]:
        """The query's values by name, in the order sent."""
        values: dict[str, list[str]] = {}
        for name, value in signing.query_pairs(self.query):
            values.setdefault(name, []).append(value)
        return values


class ServiceRequest(HttpRequest):
    """What a view under /v1 needs of Django's request, and the path's bytes: its path gives %FF and %25FF one text.

    What Django gets ready besides, for forms, cookies and uploads, is not there.
    """

    request_id: str
    received: Received

    def __init__(self, environ: dict[str, Any]) -> None:
        """environ: the WSGI environment (PEP 3333)."""
        self.META = environ
        self.method = environ["REQUEST_METHOD"].upper()
        self.decoded_path: bytes = environ["PATH_INFO"].encode("latin-1")
        self.path = self.path_info = get_path_info(environ)
        self.resolver_match = None


def receive(request: ServiceRequest) -> Received:
    """Reads a request from its WSGI environment.

    Raises BodyTooLargeError, before reading where the length is declared; BadRequestError for a body that breaks off.
    """
    meta = request.META
    return Received(
        method=request.method or "",
        decoded_path=request.decoded_path,
        query=meta.get("QUERY_STRING", "").encode("latin-1"),
        body=_read_body(meta),
        meta=meta,
    )


def has_body(request: ServiceRequest) -> bool:
    """Whether a body comes with the request, read or not."""
    return request.META.get("CONTENT_LENGTH") not in {None, "", "0"} or "HTTP_TRANSFER_ENCODING" in request.META


def _read_body(meta: dict[str, Any]) -> bytes:
    declared = meta.get("CONTENT_LENGTH") or ""
    if declared.isdecimal():
        length = int(declared) if len(declared) <= 9 else BODY_LIMIT_BYTES + 1  # noqa: PLR2004 - digits enough
        if length > BODY_LIMIT_BYTES:
            raise BodyTooLargeError
        body = _read(meta["wsgi.input"], length)
        if len(body) < length:
            raise BadRequestError("The body ends before the length that Content-Length gives.")
        return body
    if meta.get("HTTP_TRANSFER_ENCODING"):
        body = _read(meta["wsgi.input"], BODY_LIMIT_BYTES + 1)
        if len(body) > BODY_LIMIT_BYTES:
            raise BodyTooLargeError
        return body
    return b""


def _read(stream: Any, length: int) -> bytes:
    parts = []
    while length > 0 and (part := stream.read(length)):
        parts.append(part)
        length -= len(part)
    return b"".join(parts)


def require_json(received: Received) -> None:
    """Raises UnsupportedMediaTypeError unless the body is declared as application/json, in UTF-8 if it says.

    Parameters are compared and never decoded: Django's parser would do so with whichever codec the caller names.
    """
    media_type, *parameters = (received.header("CONTENT_TYPE") or "").lower().split(";")
    charsets = [value for name, _, value in (each.partition("=") for each in parameters) if name.strip() == "charset"]
    if media_type.strip() != "application/json" or not {value.strip().strip('"') for value in charsets} <= UTF_8:
        raise UnsupportedMediaTypeError
