"""The records of an export: rows of the database under the API's names, read as they are written.

All that is recorded about a user is here, for the evidence pack; person_copy.py has what the person may see of it.
"""

from collections.abc import Iterator, Mapping
from itertools import pairwise
from operator import itemgetter
from typing import Any

import orjson
from django.db.models import F, OuterRef, QuerySet, Subquery, Value
from django.db.models.expressions import RawSQL
from django.db.models.functions import JSONObject

from backoffice.lists.bounded_lists import keyset_filter
from core.formats import format_timestamp
from transactions.models import DocumentWithdrawal
from users.file.entries import shown_fields
from users.file.kinds import KINDS
from users.models import RequirementResponse, User, UserEvent
from users.models.columns import FIELD_NAMES, camel_case

BATCH_SIZE = 1_000
Record = dict[str, Any]
# Columns, or paths to them, by the name in the export.
Lookups = Mapping[str, Any]

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
_MOVE = {
    "at": "created_at",
    "from": "from_status",
    "to": "to_status",
    "by": "by__username",
    "reasonCode": "reason_code",
    "reason": "reason",
}
DECISION = _MOVE | {
    "proposedBy": "proposal__by__username",
    "proposedAt": "proposal__created_at",
    "commonMaker": "common_maker",
    "waitedSince": "waiting_since",
}
# Of a requirement, what the person may see.
ASKED = {
    "requirementId": "id",
    "at": "created_at",
    "code": "code",
    "fields": "fields",
    "message": "message",
    "dueAt": "due_at",
    "closedAt": "closure__created_at",
}
REQUIREMENT = ASKED | {
    "by": "by__username",
    "closedBy": "closure__by__username",
    # The status that the decision led to.
    "closedByDecision": "closure__decision__to_status",
    "closingNote": "closure__note",
}
HOLD = {
    "at": "created_at",
    "by": "by__username",
    "reason": "reason",
    "releasedAt": "release__created_at",
    "releasedBy": "release__by__username",
    "releaseReason": "release__reason",
}
NOTE = {"at": "created_at", "by": "staff__username", "note": "text"}
ACCESS = {"at": "created_at", "what": "kind", "by": "staff__username", "requestId": "request_id", "detail": "detail"}


def records(rows: QuerySet[Any], lookups: Lookups) -> Iterator[Record]:
    """Yield a record for each row, with a server-side cursor."""
    for values in rows.values_list(*lookups.values()).iterator():
        yield dict(zip(lookups, values, strict=True))


def in_batches(rows: QuerySet[Any], lookups: Lookups, *order: str) -> Iterator[Record]:
    """Yield a record for each row, in this total order, which is an index's: of columns of the rows.

    Each batch is a range of the index: no statement takes long, and few rows are in memory. For a cursor over a long
    period the planner would join and sort all of it before the first row.
    """
    columns = [rows.model._meta.get_field(name.lstrip("-")) for name in order]  # noqa: SLF001 - Django's public name
    rows = following = rows.order_by(*order)
    position = [F(column.name) for column in columns]
    while batch := list(following.values_list(*lookups.values(), *position)[:BATCH_SIZE]):
        yield from (dict(zip(lookups, values, strict=False)) for values in batch)
        last = batch[-1][-len(columns) :]
        following = rows.filter(keyset_filter(columns, last, is_descending=order[0].startswith("-")))


def dump(value: object) -> str:
    """Serialize to JSON in one line."""
    return orjson.dumps(value, default=str, option=orjson.OPT_UTC_Z).decode()


def events(user: User, lookups: Lookups) -> Iterator[Record]:
    """Yield the versions of a user's row, the earliest first."""
    return records(UserEvent.objects.filter(pgh_obj=user).order_by("pgh_id"), lookups)


def history(user: User) -> Iterator[Record]:
    """Yield each change of a user's row, with the row after it."""
    lookups = {"at": "pgh_created_at", "change": "pgh_label", "by": "pgh_context", "status": "status", **SUBMITTED}
    for event in events(user, lookups):
        change = "created" if event["change"] == "insert" else "changed"
        yield event | {"change": change, "by": event["by"] or {}}


def decisions(user: User) -> Iterator[Record]:
    """Yield the decisions, each with the profile on which it was made: that of the event that the decision caused."""
    versions = pairwise(events(user, {"status": "status", **SUBMITTED}))
    moves = (after for before, after in versions if before["status"] != after["status"])
    for decision in records(user.status_changes.order_by("id"), DECISION):
        profile = next((move for move in moves if move["status"] == decision["to"]), {})
        yield decision | {"profile": {name: value for name, value in profile.items() if name != "status"}}


def proposals(user: User) -> Iterator[Record]:
    """Yield what the first of two people proposed, the earliest first, and how it ended."""
    end = {"state": "present_state", "endedBy": "ended_by__username", "endedAt": "present_end", "note": "note"}
    return records(user.proposals.with_states().order_by("created_at", "id"), _MOVE | end)


def decided_on(user: User) -> Iterator[Record]:
    """Yield what was shown with each decision and proposal, the earliest first. openSeconds: null if not opened."""
    lookups = {"by": "by__username", "from": "from_status", "to": "to_status", "basis": "basis"}
    found = [
        record
        for what, rows in (("decision", user.status_changes), ("proposal", user.proposals))
        for record in records(rows.filter(basis__isnull=False), {"at": "created_at", "what": Value(what), **lookups})
    ]
    for record in sorted(found, key=itemgetter("at")):
        basis = record.pop("basis")
        changes = [
            one | {"fields": {camel_case(column): values for column, values in one["fields"].items()}}
            for one in basis["changes"]
        ]
        yield record | basis | {"changes": changes}


def requirements(user: User, lookups: Lookups = REQUIREMENT) -> Iterator[Record]:
    """Yield what the partner was asked. lookups: with `fields`."""
    for record in records(user.requirements.order_by("created_at", "id"), lookups):
        yield record | {"fields": [camel_case(column) for column in record["fields"]]}


def answers(user: User, *, for_person: bool = False) -> Iterator[Record]:
    """Yield the answers, each with the fields asked for, before and after. for_person: without who answered."""

    def profile_at(event: str) -> Subquery:
        version = UserEvent.objects.filter(pk=OuterRef(event))
        return Subquery(version.values_list(JSONObject(**SUBMITTED)))

    lookups = {
        "requirementId": "requirement",
        "at": "created_at",
        "by": "context",
        "code": "requirement__code",
        "note": "note",
        "fields": "requirement__fields",
        "before": profile_at("requirement__profile_event"),
        "after": profile_at("profile_event"),
    }
    for record in records(RequirementResponse.objects.filter(requirement__user=user).order_by("id"), lookups):
        before, after, context = record.pop("before") or {}, record.pop("after") or {}, record.pop("by")
        names = map(camel_case, record.pop("fields"))
        values = {name: [before.get(name), after.get(name)] for name in names}
        by = {} if for_person else {"by": context or {}}
        yield {**record, **by, "answers": values}


def file_records(user: User, *, for_person: bool = False) -> Iterator[Record]:
    """Yield the entries of the user's file, without what is encrypted. for_person: what the person may see."""
    rows = user.file_entries.filter(kind__in=[kind.code for kind in KINDS.values() if kind.is_told or not for_person])
    for entry in rows.select_related("by").order_by("created_at", "id").iterator():
        kind = KINDS[entry.kind]
        closes = {"closes": entry.ends_id} if entry.ends_id else {}
        due = {kind.due: entry.due_on} if entry.due_on else {}
        by = {} if for_person else {"by": entry.author}
        yield {"at": entry.created_at, "kind": entry.kind, "id": entry.pk, **by, **closes, **shown_fields(entry), **due}


def conversions(user: User) -> Iterator[Record]:
    """Yield a user's conversions as the API represents them, newest first."""
    return _as_in_api(user.conversions)


def documents(user: User, files: Mapping[str, Record], *, for_person: bool = False) -> Iterator[Record]:
    """Yield a user's documents as the API represents them, newest first, each with its file in the pack.

    files: Attachments.of_documents. Those withdrawn have when, by whom and why; for_person: they are left out.
    """
    withdrawals = {
        str(one.document.document_id): {
            "withdrawnAt": format_timestamp(one.created_at),
            "withdrawnBy": one.by.get_username(),
            "withdrawalReason": one.reason,
        }
        for one in DocumentWithdrawal.objects.filter(document__user=user).select_related("document", "by")
    }
    for document in _as_in_api(user.documents):
        withdrawal = withdrawals.get(document["documentId"], {})
        if not (for_person and withdrawal):
            yield document | withdrawal | files.get(document["documentId"], {})


def _as_in_api(rows: Any) -> Iterator[Record]:
    # SQL without parameters, of the columns of the model.
    items = rows.order_by("-created_at", "-tiebreak").values_list(RawSQL(rows.model.wire, ()), flat=True)  # noqa: S611
    return map(orjson.loads, items.iterator())
