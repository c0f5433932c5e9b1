"""DRF's request, and what of it is signed: contract, section 3. All is taken from the bytes that were sent."""

import re
from io import BytesIO
from typing import TYPE_CHECKING, Any, cast

from django.http import HttpRequest
from django.utils.functional import cached_property
from rest_framework.negotiation import BaseContentNegotiation
from rest_framework.parsers import BaseParser
from rest_framework.renderers import BaseRenderer
from rest_framework.request import Request

from partners.api.errors import BadRequestError, BodyTooLargeError, UnsupportedMediaTypeError
from partners.api.json import BODY_LIMIT_BYTES, JsonObject
from partners.authentication import keys, signing
from partners.authentication.keys import Caller
from partners.db.statements import Query

if TYPE_CHECKING:
    from partners.authentication.signature_authentication import Signature

_UTF_8 = frozenset({"utf-8", "utf8"})
_LENGTH = re.compile(r"[0-9]{1,9}", re.ASCII)


class JsonNegotiation(BaseContentNegotiation):
    """Every body is JSON in UTF-8, and every answer JSON, whatever `Accept` says (contract, section 1)."""

    def select_parser(self, request: "PartnerRequest", parsers: list[BaseParser]) -> BaseParser | None:  # type: ignore[override]
        """The parser of the body's media type, or None.

        Parameters are compared and never decoded: Django's own parser would do so with any codec that the caller names.
        """
        media_type, *parameters = request.content_type.lower().split(";")
        pairs = [(name.strip(), value.strip().strip('"')) for name, _, value in (p.partition("=") for p in parameters)]
        if not {value for name, value in pairs if name == "charset"} <= _UTF_8:
            return None
        return next((parser for parser in parsers if parser.media_type == media_type.strip()), None)

    def select_renderer(  # type: ignore[override]
        self, request: Request, renderers: list[BaseRenderer], format_suffix: str | None = None
    ) -> tuple[BaseRenderer, str | None]:
        """The view's renderer."""
        return renderers[0], renderers[0].media_type


class PartnerRequest(Request):
    """A request under /v1. `user` is the Caller, `auth` the Signature (SignatureAuthentication).

    read_ahead: the view's query, to be sent together with the query for the API key; rows_ahead: what it returned.
    """

    if TYPE_CHECKING:
        method: str
        request_id: str
        user: Caller  # type: ignore[assignment]
        auth: Signature
    read_ahead: Query[Any] | None = None
    rows_ahead: list[Any] | None = None
    body_bytes: bytes

    @cached_property
    def key_digest(self) -> bytes:
        """What the API key that came with the request is found by, whether there is such a key or not."""
        return keys.digest(self.header("HTTP_X_API_KEY") or "")

    def header(self, name: str) -> str | None:
        """A header's value exactly as sent, by its WSGI name, such as HTTP_X_API_KEY; None where it is absent."""
        value: str | None = self._request.META.get(name)
        return value

    def read_body(self) -> None:
        """Reads the body, at most 64 KiB. Raises BodyTooLargeError, BadRequestError for one that breaks off."""
        declared = (self.header("CONTENT_LENGTH") or "").lstrip("0")
        length = int(declared) if _LENGTH.fullmatch(declared) else 0 if not declared else BODY_LIMIT_BYTES + 1
        is_chunked = "HTTP_TRANSFER_ENCODING" in self._request.META
        if length > BODY_LIMIT_BYTES and not is_chunked:
            raise BodyTooLargeError
        # Django's own needs a while to find that there is none.
        self.body_bytes = body = self._request.body if length or is_chunked else b""
        if len(body) > BODY_LIMIT_BYTES:
            raise BodyTooLargeError
        if len(body) < length and not is_chunked:
            raise BadRequestError("The body ends before the length that Content-Length gives.")

    @cached_property
    def canonical_path(self) -> str:
        """Line 2 of the canonical request. Raises BadRequestError where the path is not UTF-8."""
        try:
            return signing.canonical_path(self._path_bytes)
        except signing.NotUtf8Error:
            raise BadRequestError("The path, percent-decoded, is not UTF-8.") from None

    @cached_property
    def canonical_query(self) -> str:
        """Line 3 of the canonical request. Raises BadRequestError where the query is not UTF-8."""
        try:
            return signing.canonical_query(self._query_bytes)
        except signing.NotUtf8Error:
            raise _query_is_not_utf_8() from None

    @cached_property
    def body_digest(self) -> str:
        """Line 6 of the canonical request."""
        return signing.body_digest(self.body_bytes)

    def canonical_request(self, timestamp: str) -> str:
        """The six lines that are signed. Raises BadRequestError where path or query is not UTF-8."""
        key = self.header("HTTP_IDEMPOTENCY_KEY") or ""
        lines = (self.method, self.canonical_path, self.canonical_query, timestamp, key, self.body_digest)
        return "\n".join(lines)

    def parameters(self) -> dict[str, list[str]]:
        """The query's values by name, in the order sent: decoded as they are signed.

        Raises BadRequestError where the query is not UTF-8.
        """
        values: dict[str, list[str]] = {}
        try:
            for name, value in signing.query_pairs(self._query_bytes):
                values.setdefault(name, []).append(value)
        except signing.NotUtf8Error:
            raise _query_is_not_utf_8() from None
        return values

    @cached_property
    def parser(self) -> BaseParser:
        """What reads the body. Raises UnsupportedMediaTypeError."""
        negotiator: Any = self.negotiator
        parser: BaseParser | None = negotiator.select_parser(self, self.parsers)
        if parser is None:
            raise UnsupportedMediaTypeError
        return parser

    @cached_property
    def data(self) -> JsonObject:
        """The body's JSON object; DRF's own takes an empty body for an empty object. Raises BadRequestError."""
        parsed: Any = self.parser.parse(BytesIO(self.body_bytes), self.content_type, self.parser_context)
        return cast("JsonObject", parsed)

    @property
    def _path_bytes(self) -> bytes:
        """The percent-decoded path: config/request_handler.py keeps it, as Django's is the same for %FF and %25FF."""
        kept: bytes | None = getattr(self._request, "path_bytes", None)
        return self._request.path_info.encode() if kept is None else kept

    @property
    def _query_bytes(self) -> bytes:
        return str(self._request.META.get("QUERY_STRING", "")).encode("latin-1")


def _query_is_not_utf_8() -> BadRequestError:
    return BadRequestError("The query, percent-decoded, is not UTF-8.")


def has_body(request: HttpRequest) -> bool:
    """Whether a body comes with the request, read or not."""
    return request.META.get("CONTENT_LENGTH") not in {None, "", "0"} or "HTTP_TRANSFER_ENCODING" in request.META
