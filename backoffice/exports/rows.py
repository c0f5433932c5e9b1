"""Rows of the database as records of an export, under the API's names; and a user's conversions and documents."""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import orjson
import structlog
from django.db import DataError
from django.db.models import QuerySet, Subquery
from django.utils.translation import gettext_lazy as _

from backoffice.exports.evidence_words import Words
from core.database import statements
from core.formats.rfc_3339 import format_timestamp
from partners.api.lists import MAX_LIMIT, KeysetList
from transactions import api
from transactions.documents.downloads import DocumentProblem
from transactions.models import DocumentType, DocumentWithdrawal
from users.models import User
from users.models.columns import FIELD_NAMES

log = structlog.get_logger("users.exports")

BATCH_SIZE = 1_000
Record = dict[str, Any]


class Unreadable(NamedTuple):
    """What a list has of a row that cannot be read."""

    mark: str
    id: Any


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


def in_batches(rows: QuerySet[Any, Any], time: str, *, newest_first: bool = False) -> Iterator[Any]:
    """All of these rows, or dicts of them, in the order of this column and of their id; or Unreadable.

    Each batch is a range of an index: no statement takes long, and few rows are in memory. For a cursor over a long
    period the planner would join and sort all of it before the first row.
    """
    sign, side, passed = ("-", "lte", "gte") if newest_first else ("", "gte", "lte")
    rows = rows.order_by(f"{sign}{time}", f"{sign}id")
    batch = _batch(rows)
    while batch:
        yield from batch
        if len(batch) < BATCH_SIZE:
            return
        last: Any = batch[-1]._asdict() if isinstance(batch[-1], Unreadable) else batch[-1]
        last = last if isinstance(last, dict) else vars(last)
        # Of two rows of one time, the id decides.
        then = last.get(time) or Subquery(rows.filter(pk=last["id"]).values(time))
        batch = _batch(rows.filter(**{f"{time}__{side}": then}).exclude(**{time: then, f"id__{passed}": last["id"]}))


def _batch(rows: QuerySet[Any, Any]) -> list[Any]:
    try:
        return list(rows[:BATCH_SIZE])
    except DataError:
        return [read_alone(rows, pk) for pk in rows.values_list("pk", flat=True)[:BATCH_SIZE]]


def read_alone(rows: QuerySet[Any, Any], pk: Any) -> Any:
    """Return this one of the rows, or Unreadable."""
    try:
        return rows.get(pk=pk)
    except DataError as error:
        # Its text may have values of the row.
        log.error("a row could not be read", row=str(pk), error=type(error.__cause__).__name__)  # noqa: TRY400
        return Unreadable("UNREADABLE", pk)


def dump(value: object) -> str:
    """Serialize to JSON in one line."""
    return orjson.dumps(value, default=str, option=orjson.OPT_UTC_Z).decode()


# A user's conversions and documents

CONVERSION_WORDS: Words = {"type": {"conversion": _("Conversion")}}
DOCUMENT_WORDS: Words = {
    "type": dict(DocumentType.choices),
    "fileFault": {**dict(DocumentProblem.choices), "too large": _("The files together exceed the limit of a pack")},
}


def _items(rows: KeysetList, user: User) -> Iterator[Record]:
    """All items of a user's list, as the API represents them, newest first."""
    start = None
    while pages := statements.fetch(rows.page((user.partner_id, user.external_id), start, MAX_LIMIT)):
        [page] = pages
        yield from orjson.loads(page.items)
        if not page.has_more:
            return
        start = page.last


def conversion_records(user: User) -> Iterator[Record]:
    """All conversions of a user as the API represents them, newest first."""
    return _items(api.CONVERSIONS, user)


def document_records(user: User) -> Iterator[Record]:
    """All documents of a user as the API represents them, newest first; those withdrawn with when, by whom and why."""
    withdrawals = {
        str(one.document.document_id): {
            "withdrawnAt": format_timestamp(one.created_at),
            "withdrawnBy": one.by.get_username(),
            "withdrawalReason": one.reason,
        }
        for one in DocumentWithdrawal.objects.filter(document__user=user).select_related("document", "by")
    }
    for item in _items(api.PUBLISHED_DOCUMENTS, user):
        yield item | withdrawals.get(item["documentId"], {})


def issued_document_records(user: User) -> Iterator[Record]:
    """The documents of a user that were not withdrawn, as the API represents them, newest first."""
    return _items(api.DOCUMENTS, user)
