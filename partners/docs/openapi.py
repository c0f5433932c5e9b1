"""The API's description, made from the code by drf-spectacular: OpenAPI 3.1.

The views' own words are beside them, in `described.py` of their apps; here stands what all operations share.
"""

import json
from functools import lru_cache
from typing import Any

from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.openapi import AutoSchema


class OperationSchema(AutoSchema):
    """An operation of the API."""


@lru_cache(maxsize=1)
def document() -> dict[str, Any]:
    """The whole description."""
    described: dict[str, Any] = SchemaGenerator().get_schema(request=None, public=True)
    return described


@lru_cache(maxsize=1)
def document_bytes() -> bytes:
    """The whole description as JSON."""
    return json.dumps(document(), indent=1, ensure_ascii=False).encode()
