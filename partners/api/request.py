"""DRF's request, with its body, media type and JSON as the contract has them (section 1)."""

import json
import re
from collections.abc import Callable, Mapping
from io import BytesIO
from typing import IO, Any, NoReturn, cast

from django.utils.functional import cached_property
from rest_framework.parsers import BaseParser

from partners.api.errors import BadRequestError
from partners.authentication.signature_authentication import SignedRequest

MAX_BODY_BYTES = 64 * 1024
TOO_LARGE = f"The body is larger than {MAX_BODY_BYTES} bytes."
MEDIA_TYPE = "Unsupported media type: send application/json, in UTF-8."
CONTENT_ENCODING = "Unsupported Content-Encoding: send the body as it is, without compression."
MALFORMED_JSON = "The body is not valid JSON in UTF-8."
_UTF_8 = frozenset({"utf-8", "utf8"})
_LENGTH = re.compile(r"[0-9]{1,9}", re.ASCII)


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
    """The JSON object (RFC 8259, UTF-8, no byte order mark). Raises BadRequestError, which never quotes the body."""
    try:
        value = _decode(body.decode())
    except json.JSONDecodeError as error:
        raise BadRequestError(f"{MALFORMED_JSON} See line {error.lineno}, column {error.colno}.") from None
    except (ValueError, RecursionError):  # not UTF-8, NaN, endless digits; endless brackets
        raise BadRequestError(MALFORMED_JSON) from None
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


class PartnerRequest(SignedRequest):
    """A request under /v1. SignatureAuthentication sets `user` to the Caller, and `auth` to the Signature."""

    request_id: str

    def read_body(self) -> None:
        """Read the body, at most 64 KiB. Raises BadRequestError, also if it is incomplete."""
        declared = (self.header("CONTENT_LENGTH") or "").lstrip("0")
        length = int(declared) if _LENGTH.fullmatch(declared) else 0 if not declared else MAX_BODY_BYTES + 1
        is_chunked = "HTTP_TRANSFER_ENCODING" in self._request.META
        if length > MAX_BODY_BYTES and not is_chunked:
            raise BadRequestError(TOO_LARGE, status=413)
        # Django is slow to find that there is no body.
        self.body_bytes = body = self._request.body if length or is_chunked else b""
        if len(body) > MAX_BODY_BYTES:
            raise BadRequestError(TOO_LARGE, status=413)
        if len(body) < length and not is_chunked:
            raise BadRequestError("The body is shorter than Content-Length.")

    @cached_property
    def parser(self) -> BaseParser:
        """The parser of the body's media type, in UTF-8 and not encoded. Raises BadRequestError."""
        # Parameters are not decoded: Django's parser would use any codec that the caller names.
        media_type, *parameters = self.content_type.lower().split(";")
        pairs = [(name.strip(), value.strip().strip('"')) for name, _, value in (p.partition("=") for p in parameters)]
        parsers: Any = self.parsers
        parser: BaseParser | None = next(
            (parser for parser in parsers if parser.media_type == media_type.strip()), None
        )
        if parser is None or not {value for name, value in pairs if name == "charset"} <= _UTF_8:
            raise BadRequestError(MEDIA_TYPE, status=415)
        codings = {coding.strip().lower() for coding in (self.header("HTTP_CONTENT_ENCODING") or "").split(",")}
        if not codings <= {"identity", ""}:
            raise BadRequestError(CONTENT_ENCODING, status=415)
        return parser

    @cached_property
    def data(self) -> JsonObject:
        """The body's JSON object; for DRF an empty body would be an empty object. Raises BadRequestError."""
        parsed: Any = self.parser.parse(BytesIO(self.body_bytes), self.content_type, self.parser_context)
        return cast("JsonObject", parsed)
