"""The OpenAPI document as the docs pages read and serve it."""

from functools import lru_cache
from typing import Any

import orjson
from drf_spectacular.generators import SchemaGenerator


@lru_cache(maxsize=1)
def document() -> dict[str, Any]:
    """The whole document."""
    schema: dict[str, Any] = SchemaGenerator().get_schema(request=None, public=True)  # type: ignore[no-untyped-call]
    return schema


@lru_cache(maxsize=1)
def document_bytes() -> bytes:
    """The whole document as JSON."""
    return orjson.dumps(document(), option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)
