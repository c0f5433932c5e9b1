"""Rows of the database as records of an export, under the API's names."""

from collections.abc import Iterator, Mapping
from typing import Any

import orjson
from django.db.models import QuerySet

from users.models.columns import FIELD_NAMES

Record = dict[str, Any]

# Lookups by the name in the export.
SUBMITTED = {name: column for column, name in FIELD_NAMES.items()}
USER = {
    "userId": "id",
    "externalId": "external_id",
    "partner": "partner__slug",
    "mode": "partner__mode",
    "status": "status",
    "statusSince": "status_since",
    "createdAt": "created_at",
    "updatedAt": "updated_at",
    **SUBMITTED,
}


def records(rows: QuerySet[Any], lookups: Mapping[str, str]) -> Iterator[Record]:
    """Yield a record for each row, with a server-side cursor."""
    for values in rows.values_list(*lookups.values()).iterator():
        yield dict(zip(lookups, values, strict=True))


def dump(value: object) -> str:
    """Serialize to JSON in one line."""
    return orjson.dumps(value, default=str, option=orjson.OPT_UTC_Z).decode()
