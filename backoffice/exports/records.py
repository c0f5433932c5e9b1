"""Rows of the database as records of an export, under the API's names."""

from collections.abc import Iterator, Mapping
from typing import Any

import orjson
from django.db.models import QuerySet

from users.models.columns import PROFILE_COLUMNS

Record = dict[str, Any]


def camel_case(column: str) -> str:
    """Return the API's name of a column."""
    first, *others = column.split("_")
    return first + "".join(map(str.capitalize, others))


# Lookups by the name in the export.
SUBMITTED = {camel_case(column): column for column in PROFILE_COLUMNS}
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
