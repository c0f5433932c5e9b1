"""DRF's request, with its body, media type and JSON as the contract has them (section 1)."""

import json
import re
from collections.abc import Callable
from typing import Any, NoReturn

from django.utils.functional import cached_property

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

    def require_json(self) -> None:
        """Raises BadRequestError unless the body's media type is JSON in UTF-8, not encoded."""
        # Parameters are not decoded: Django's parser would use any codec that the caller names.
        media_type, *parameters = self.content_type.lower().split(";")
        pairs = [(name.strip(), value.strip().strip('"')) for name, _, value in (p.partition("=") for p in parameters)]
        charsets = {value for name, value in pairs if name == "charset"}
        if media_type.strip() != "application/json" or not charsets <= _UTF_8:
            raise BadRequestError(MEDIA_TYPE, status=415)
        codings = {coding.strip().lower() for coding in (self.header("HTTP_CONTENT_ENCODING") or "").split(",")}
        if not codings <= {"identity", ""}:
            raise BadRequestError(CONTENT_ENCODING, status=415)

    @cached_property
    def data(self) -> JsonObject:
        """The body's JSON object; for DRF an empty body would be an empty object. Raises BadRequestError."""
        return parse_object(self.body_bytes)
