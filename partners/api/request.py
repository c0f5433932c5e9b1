"""DRF's request with its canonical form, from the bytes that were sent: contract, section 3."""

import re
from io import BytesIO
from typing import TYPE_CHECKING, Any, cast

from django.utils.functional import cached_property
from rest_framework.parsers import BaseParser
from rest_framework.request import Request

from partners.api.errors import BadRequestError, BodyTooLargeError, UnsupportedMediaTypeError
from partners.api.first_round_trip import FirstRoundTrip
from partners.api.json import BODY_LIMIT_BYTES, JsonObject
from partners.authentication import keys, signing
from partners.authentication.keys import Caller

if TYPE_CHECKING:
    from partners.authentication.signature_authentication import Signature

QUERY_NOT_UTF_8 = "The query, percent-decoded, is not UTF-8."

_UTF_8 = frozenset({"utf-8", "utf8"})
_LENGTH = re.compile(r"[0-9]{1,9}", re.ASCII)


class PartnerRequest(Request):
    """A request under /v1. SignatureAuthentication sets `user` to the Caller, and `auth` to the Signature.

    first_round_trip: of the request; the view sets it if it has a query to send with the one for the API key.
    """

    if TYPE_CHECKING:
        method: str
        request_id: str
        user: Caller  # type: ignore[assignment]
        auth: Signature
    body_bytes: bytes

    @cached_property
    def first_round_trip(self) -> FirstRoundTrip:
        """Without a query of the view."""
        return FirstRoundTrip()

    @cached_property
    def key_digest(self) -> bytes:
        """The digest of the API key that was sent, known or not."""
        return keys.digest(self.header("HTTP_X_API_KEY") or "")

    def header(self, name: str) -> str | None:
        """A header's value as sent, by its WSGI name, such as HTTP_X_API_KEY."""
        value: str | None = self._request.META.get(name)
        return value

    def read_body(self) -> None:
        """Read the body, at most 64 KiB. Raises BodyTooLargeError; BadRequestError if it is incomplete."""
        declared = (self.header("CONTENT_LENGTH") or "").lstrip("0")
        length = int(declared) if _LENGTH.fullmatch(declared) else 0 if not declared else BODY_LIMIT_BYTES + 1
        is_chunked = "HTTP_TRANSFER_ENCODING" in self._request.META
        if length > BODY_LIMIT_BYTES and not is_chunked:
            raise BodyTooLargeError
        # Django is slow to find that there is no body.
        self.body_bytes = body = self._request.body if length or is_chunked else b""
        if len(body) > BODY_LIMIT_BYTES:
            raise BodyTooLargeError
        if len(body) < length and not is_chunked:
            raise BadRequestError("The body is shorter than Content-Length.")

    @cached_property
    def canonical_path(self) -> str:
        """Line 2 of the canonical request. Raises BadRequestError unless it is UTF-8."""
        try:
            return signing.canonical_path(self._path_bytes)
        except signing.NotUtf8Error:
            raise BadRequestError("The path, percent-decoded, is not UTF-8.") from None

    @cached_property
    def canonical_query(self) -> str:
        """Line 3 of the canonical request. Raises BadRequestError unless it is UTF-8."""
        try:
            return signing.canonical_query(self._query_bytes)
        except signing.NotUtf8Error:
            raise BadRequestError(QUERY_NOT_UTF_8) from None

    @cached_property
    def body_digest(self) -> str:
        """Line 6 of the canonical request."""
        return signing.body_digest(self.body_bytes)

    def canonical_request(self, timestamp: str) -> str:
        """The six lines that are signed. Raises BadRequestError unless path and query are UTF-8."""
        key = self.header("HTTP_IDEMPOTENCY_KEY") or ""
        lines = (self.method, self.canonical_path, self.canonical_query, timestamp, key, self.body_digest)
        return "\n".join(lines)

    def parameters(self) -> dict[str, list[str]]:
        """The query's decoded values by name, in the order sent. Raises BadRequestError unless they are UTF-8."""
        values: dict[str, list[str]] = {}
        try:
            for name, value in signing.query_pairs(self._query_bytes):
                values.setdefault(name, []).append(value)
        except signing.NotUtf8Error:
            raise BadRequestError(QUERY_NOT_UTF_8) from None
        return values

    @cached_property
    def parser(self) -> BaseParser:
        """The parser of the body's media type, which must be in UTF-8. Raises UnsupportedMediaTypeError."""
        # Parameters are not decoded: Django's parser would use any codec that the caller names.
        media_type, *parameters = self.content_type.lower().split(";")
        pairs = [(name.strip(), value.strip().strip('"')) for name, _, value in (p.partition("=") for p in parameters)]
        parsers: Any = self.parsers
        parser: BaseParser | None = next(
            (parser for parser in parsers if parser.media_type == media_type.strip()), None
        )
        if parser is None or not {value for name, value in pairs if name == "charset"} <= _UTF_8:
            raise UnsupportedMediaTypeError
        return parser

    @cached_property
    def data(self) -> JsonObject:
        """The body's JSON object; for DRF an empty body would be an empty object. Raises BadRequestError."""
        parsed: Any = self.parser.parse(BytesIO(self.body_bytes), self.content_type, self.parser_context)
        return cast("JsonObject", parsed)

    @property
    def _path_bytes(self) -> bytes:
        """The percent-decoded path as config/request_handler.py stores it: Django's is the same for %FF and %25FF."""
        path: bytes | None = getattr(self._request, "path_bytes", None)
        return self._request.path_info.encode() if path is None else path

    @property
    def _query_bytes(self) -> bytes:
        return str(self._request.META.get("QUERY_STRING", "")).encode("latin-1")
