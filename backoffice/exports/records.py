"""Rows of the database as records of an export, under the API's names."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import orjson
import structlog
from django.db import DataError
from django.db.models import QuerySet

from users.models.columns import FIELD_NAMES

log = structlog.get_logger("users.exports")

Record = dict[str, Any]
# What a list has first of a row that cannot be read, followed by the row's id.
UNREADABLE = "UNREADABLE"

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


def read_alone(rows: QuerySet[Any, Any], pk: Any) -> Sequence[Any]:
    """Return the values of this one of the rows; UNREADABLE and its id where it cannot be read."""
    try:
        values: Sequence[Any] = rows.get(pk=pk)
    except DataError as error:
        # Its text may have values of the row.
        log.error("a row could not be read", row=str(pk), error=type(error.__cause__).__name__)  # noqa: TRY400
        return UNREADABLE, pk
    return values


def dump(value: object) -> str:
    """Serialize to JSON in one line."""
    return orjson.dumps(value, default=str, option=orjson.OPT_UTC_Z).decode()
