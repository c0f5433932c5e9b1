"""The audit log for people: its lines in words, and in batches, newest first."""

import heapq
from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from uuid import UUID

from django.db.models import Q, QuerySet
from django.db.models.lookups import Exact
from django.utils.text import capfirst

from backoffice.exports.records import Record, in_batches
from backoffice.exports.words import heading, text
from backoffice.lists.cells import labelled
from core.audit import COLUMNS
from core.models import EXTERNAL_ID, AuditEntry
from users.decisions.reasons import is_text_of
from users.models.columns import camel_case

# The lines of each kind that a search finds.
MAX_FOUND = 1_000
# How it was done comes after what was done.
_LAST = ("key", "command", "operator", "source", "requestId")
_ENTRY = {"id": "id", "kind": "actor_kind"} | {name: name for name in ("at", "actor", "action", "object", "detail")}


def detail_lines(detail: Mapping[str, Any]) -> list[str]:
    """What changed, and the circumstances, in words: "Rate limit: 600/minute → 60/minute", "Reason: …"."""
    shown = dict(detail)
    changes = shown.pop("changes", None) or {}
    # The text of the code, in English: the code says it in the reader's language.
    if is_text_of(shown.get("reasonCode", ""), shown.get("reason", "")):
        del shown["reason"]
    lines = [_change(name, *values) for name, values in sorted(changes.items())]
    return lines + [labelled(heading(name), text(shown[name], name)) for name in sorted(shown, key=_LAST.__contains__)]


def _change(name: str, *values: Any) -> str:
    column = COLUMNS.get(name)
    choices = dict(column.flatchoices) if column else {}
    label = capfirst(column.verbose_name) if column else heading(camel_case(name))
    before, after = (text(choices.get(str(value), value), camel_case(name)) for value in values)
    return labelled(label, after if values[0] in (None, "") else f"{before} → {after}")


def brief_detail(entry: AuditEntry, *, is_user_shown: bool) -> str:
    """The detail in one line, without what only an investigation needs: request ids, and the actor again.

    is_user_shown: whether external ID and partner of the user stand beside it.
    """
    hidden = {"requestId", "source"} | ({"partner", "externalId"} if is_user_shown else set())
    if entry.detail.get("operator") == entry.actor:
        hidden.add("operator")
    return "; ".join(detail_lines({name: value for name, value in entry.detail.items() if name not in hidden}))


def of_external_id(external_id: str) -> Q:
    """The lines that concern a user of this externalId, of whatever partner."""
    return Q(Exact(EXTERNAL_ID, external_id))


def find(term: str, user_ids: Sequence[UUID]) -> tuple[list[int], bool]:
    """The newest lines whose actor, object or externalId is `term`, or that are about these users.

    At most MAX_FOUND of each kind, each a range of an index; and whether there are more.
    """
    kinds = (Q(actor=term), Q(object=term), of_external_id(term), Q(object__in=[str(pk) for pk in user_ids]))
    newest = AuditEntry.objects.order_by("-at", "-id").values_list("pk", flat=True)
    found = [list(newest.filter(kind)[: MAX_FOUND + 1]) for kind in kinds]
    return [pk for ids in found for pk in ids[:MAX_FOUND]], any(len(ids) > MAX_FOUND for ids in found)


def newest_first(entries: QuerySet[AuditEntry]) -> Iterator[Record]:
    """All of these lines as records, with the detail in words."""
    for record in in_batches(entries, _ENTRY, "-at", "-id"):
        yield record | {"detail": "; ".join(detail_lines(record["detail"]))}


def newest_first_about(entries: QuerySet[AuditEntry], name: str) -> Iterator[Record]:
    """Those of these lines whose object has this name, or that concern a user of this externalId."""
    # Two ranges of two indexes: for one condition the planner may read the whole log.
    of_object = entries.filter(object=name)
    of_user = entries.filter(of_external_id(name), ~Q(object=name))
    newest = map(newest_first, (of_object, of_user))
    return heapq.merge(*newest, key=lambda record: (record["at"], record["id"]), reverse=True)
