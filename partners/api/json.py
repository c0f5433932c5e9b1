"""The parser of JSON under /v1."""

import json
import re
from collections.abc import Callable, Mapping
from typing import IO, Any, NoReturn

from rest_framework.parsers import BaseParser

from partners.api.errors import MALFORMED_JSON, BadRequestError

MAX_BODY_BYTES = 64 * 1024
# What Python's parser refuses without a position: strings first, which may contain the same characters.
_UNPOSITIONED = re.compile(r'"(?:[^"\\]|\\.)*"|(?P<fault>NaN|-?Infinity|[0-9]{4301,})')


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
