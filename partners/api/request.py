"""DRF's request with its body and media type as the contract has them (section 1)."""

import re
from io import BytesIO
from typing import Any, cast

from django.utils.functional import cached_property
from rest_framework.parsers import BaseParser

from partners.api.errors import CONTENT_ENCODING, BadRequestError, BodyTooLargeError, UnsupportedMediaTypeError
from partners.api.json import MAX_BODY_BYTES, JsonObject
from partners.authentication.signature_authentication import SignedRequest

_UTF_8 = frozenset({"utf-8", "utf8"})
_LENGTH = re.compile(r"[0-9]{1,9}", re.ASCII)


class PartnerRequest(SignedRequest):
    """A request under /v1. SignatureAuthentication sets `user` to the Caller, and `auth` to the Signature."""

    request_id: str

    def read_body(self) -> None:
        """Read the body, at most 64 KiB. Raises BodyTooLargeError; BadRequestError if it is incomplete."""
        declared = (self.header("CONTENT_LENGTH") or "").lstrip("0")
        length = int(declared) if _LENGTH.fullmatch(declared) else 0 if not declared else MAX_BODY_BYTES + 1
        is_chunked = "HTTP_TRANSFER_ENCODING" in self._request.META
        if length > MAX_BODY_BYTES and not is_chunked:
            raise BodyTooLargeError
        # Django is slow to find that there is no body.
        self.body_bytes = body = self._request.body if length or is_chunked else b""
        if len(body) > MAX_BODY_BYTES:
            raise BodyTooLargeError
        if len(body) < length and not is_chunked:
            raise BadRequestError("The body is shorter than Content-Length.")

    @cached_property
    def parser(self) -> BaseParser:
        """The parser of the body's media type, in UTF-8 and not encoded. Raises UnsupportedMediaTypeError."""
        # Parameters are not decoded: Django's parser would use any codec that the caller names.
        media_type, *parameters = self.content_type.lower().split(";")
        pairs = [(name.strip(), value.strip().strip('"')) for name, _, value in (p.partition("=") for p in parameters)]
        parsers: Any = self.parsers
        parser: BaseParser | None = next(
            (parser for parser in parsers if parser.media_type == media_type.strip()), None
        )
        if parser is None or not {value for name, value in pairs if name == "charset"} <= _UTF_8:
            raise UnsupportedMediaTypeError
        codings = {coding.strip().lower() for coding in (self.header("HTTP_CONTENT_ENCODING") or "").split(",")}
        if not codings <= {"identity", ""}:
            raise UnsupportedMediaTypeError(CONTENT_ENCODING)
        return parser

    def require_json(self) -> None:
        """Raises UnsupportedMediaTypeError unless the body's media type has a parser."""
        _ = self.parser

    @cached_property
    def data(self) -> JsonObject:
        """The body's JSON object; for DRF an empty body would be an empty object. Raises BadRequestError."""
        parsed: Any = self.parser.parse(BytesIO(self.body_bytes), self.content_type, self.parser_context)
        return cast("JsonObject", parsed)
