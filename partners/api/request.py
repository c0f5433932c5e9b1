"""DRF's request with its body, media type and JSON as the contract has them (sections 1 and 2)."""

import json
import re
from collections.abc import Callable, Mapping
from io import BytesIO
from typing import IO, Any, NoReturn, cast

from django.utils.functional import cached_property
from rest_framework.parsers import BaseParser

from partners.api.errors import (
    CONTENT_ENCODING,
    MALFORMED_JSON,
    BadRequestError,
    BodyTooLargeError,
    UnsupportedMediaTypeError,
)
from partners.authentication.signature_authentication import SignedRequest

MAX_BODY_BYTES = 64 * 1024
_UTF_8 = frozenset({"utf-8", "utf8"})
_LENGTH = re.compile(r"[0-9]{1,9}", re.ASCII)
# What Python's parser refuses without a position: strings first, which may contain the same characters.
_UNPOSITIONED = re.compile(r'"(?:[^"\\]|\\.)*"|(?P<fault>NaN|-?Infinity|[0-9]{4301,})')


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
    def data(self) -> "JsonObject":
        """The body's JSON object; for DRF an empty body would be an empty object. Raises BadRequestError."""
        parsed: Any = self.parser.parse(BytesIO(self.body_bytes), self.content_type, self.parser_context)
        return cast("JsonObject", parsed)


class MalformedJsonError(BadRequestError):
    """A body that is no JSON in UTF-8. line, column: from 1, in characters; of bytes that are not UTF-8, their first.

    The position only: the parser's own text may quote the body.
    """

    def __init__(self, text: str, index: int | None) -> None:
        """index: in the text; None if it is nested too deeply."""
        self.line = self.column = 0
        if index is None:
            super().__init__(f"{MALFORMED_JSON} It is nested too deeply.")
            return
        self.line, self.column = text.count("\n", 0, index) + 1, index - text.rfind("\n", 0, index)
        super().__init__(f"{MALFORMED_JSON} See line {self.line}, column {self.column}.")


class JsonObject(dict[str, Any]):
    """A JSON object that remembers repeated names."""

    def __init__(self, pairs: list[tuple[str, Any]]) -> None:
        super().__init__(pairs)
        self.repeated: set[str] = set()
        if len(self) != len(pairs):
            seen: set[str] = set()
            for name, _ in pairs:
                (self.repeated if name in seen else seen).add(name)


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


# orjson can neither report repeated names nor refuse NaN; json.loads would make a decoder for each call.
_decode: Callable[[str], Any] = json.JSONDecoder(object_pairs_hook=JsonObject, parse_constant=_refuse_constant).decode


def parse_object(body: bytes) -> JsonObject:
    """Parse a JSON object (RFC 8259, in UTF-8, without a byte order mark).

    Raises MalformedJsonError, and BadRequestError for JSON that is no object.
    """
    try:
        text = body.decode()
    except UnicodeDecodeError as error:
        valid = body[: error.start].decode()
        raise MalformedJsonError(valid, len(valid)) from None
    try:
        value = _decode(text)
    except json.JSONDecodeError as error:
        raise MalformedJsonError(text, error.pos) from None
    except ValueError:
        faults = (match.start() for match in _UNPOSITIONED.finditer(text) if match["fault"])
        raise MalformedJsonError(text, next(faults, 0)) from None
    except RecursionError:  # endless brackets
        raise MalformedJsonError(text, None) from None
    if not isinstance(value, JsonObject):
        raise BadRequestError("The body must be a JSON object.")
    return value


class JsonParser(BaseParser):
    """The parser of every body."""

    media_type = "application/json"

    def parse(
        self, stream: IO[bytes], media_type: str | None = None, parser_context: Mapping[str, Any] | None = None
    ) -> JsonObject:
        """Raises BadRequestError."""
        return parse_object(stream.read())
