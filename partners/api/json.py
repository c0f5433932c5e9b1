"""JSON in and out: the one parser and the one renderer under /v1."""

import json
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import IO, Any, NoReturn

import orjson
from rest_framework.parsers import BaseParser
from rest_framework.renderers import BaseRenderer

from partners.api.errors import BadRequestError

BODY_LIMIT_BYTES = 64 * 1024


class JsonObject(dict[str, Any]):
    """A JSON object that remembers which names were given more than once."""

    def __init__(self, pairs: list[tuple[str, Any]]) -> None:
        super().__init__(pairs)
        self.repeated: set[str] = set()
        if len(self) != len(pairs):
            seen: set[str] = set()
            for name, _ in pairs:
                (self.repeated if name in seen else seen).add(name)


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


# Kept by name: json.loads makes a decoder anew for each call that has hooks.
_decode: Callable[[str], Any] = json.JSONDecoder(object_pairs_hook=JsonObject, parse_constant=_refuse_constant).decode


def parse_object(body: bytes) -> JsonObject:
    """The JSON object that a body holds (RFC 8259, in UTF-8, without a byte order mark).

    The standard library's parser, since it can see names given twice and refuse NaN and infinities.
    Raises BadRequestError for anything else.
    """
    try:
        value = _decode(body.decode())
    except (ValueError, RecursionError):  # not UTF-8, not JSON, a number of 5,000 digits; brackets without end
        raise BadRequestError("The body is not well-formed JSON in UTF-8.") from None
    if not isinstance(value, JsonObject):
        raise BadRequestError("The body must be a JSON object.")
    return value


class JsonParser(BaseParser):
    """The parser of every body."""

    media_type = "application/json"

    def parse(
        self, stream: IO[bytes], media_type: str | None = None, parser_context: Mapping[str, Any] | None = None
    ) -> JsonObject:
        """See `parse_object`."""
        return parse_object(stream.read())


class JsonRenderer(BaseRenderer):
    """The renderer of every answer but a document's file."""

    media_type = "application/json"
    format = "json"
    charset = None

    def render(
        self, data: object, accepted_media_type: str | None = None, renderer_context: Mapping[str, Any] | None = None
    ) -> bytes:
        """`data`, which orjson can write, as JSON in UTF-8."""
        return orjson.dumps(data)


def rfc_3339(moment: datetime) -> str:
    """An aware date-time as answers carry it: UTC, `Z`, six fraction digits (contract, section 6)."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
