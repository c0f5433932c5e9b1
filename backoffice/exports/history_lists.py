"""Decisions and the access log by period: CSV for spreadsheets, the earliest first."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from django.db import DataError
from django.db.models import QuerySet, Subquery
from django.utils.translation import gettext_lazy as _

from backoffice.exports.evidence_pack import DECISION
from backoffice.exports.records import UNREADABLE, read_alone
from backoffice.exports.spreadsheets import csv_file
from backoffice.exports.user_lists import ExportForm, day_field
from users.cases.modes import in_mode
from users.models import AccessRecord, StatusChange

BATCH_SIZE = 1_000
_USER = {
    "userId": "user",
    "externalId": "user__external_id",
    "firstName": "user__first_name",
    "lastName": "user__last_name",
    "partner": "user__partner__slug",
    "mode": "user__partner__mode",
}
_ACCESS = {"at": "created_at", "what": "kind", "by": "staff__username"}
_ACCESS |= _USER | {"requestId": "request_id", "detail": "detail"}


class History(NamedTuple):
    """A list of what happened to users. permission: of its page in the back office. lookups: by the column's heading.

    Its rows have `created_at`, the first of the lookups, and `user`, and an index of the order.
    """

    title: Any
    permission: str
    rows: QuerySet[Any]
    lookups: dict[str, str]


# The keys are the names of the files.
HISTORIES = {
    "decisions": History(
        _("Decisions"), "users.view_statuschange", StatusChange.objects.all(), {"at": "created_at"} | _USER | DECISION
    ),
    "access-log": History(_("Access log"), "users.view_accessrecord", AccessRecord.objects.all(), _ACCESS),
}


class HistoryForm(ExportForm):
    """Which rows to export."""

    periods = (("since", "until"),)
    field_order = ("since", "until")
    since = day_field(_("From this day"))
    until = day_field(_("To this day"))

    def rows(self, history: History) -> QuerySet[Any]:
        """Return the rows that match a valid form, in the order of time."""
        partner = self.cleaned_data["partner"]
        rows = history.rows.filter(**self.within(self.periods[0]), **({"user__partner": partner} if partner else {}))
        return in_mode(rows, self.cleaned_data["mode"]).order_by("created_at", "id")


def csv_lines(history: History, rows: QuerySet[Any]) -> Iterator[str]:
    """Write a heading, and a line for each row."""
    return csv_file(history.lookups, _in_batches(rows.values_list(*history.lookups.values(), "id")))


def _in_batches(rows: QuerySet[Any, Any]) -> Iterator[Sequence[Any]]:
    """Yield the values of each row, whose first is `created_at` and last is `id`, which is left out.

    In batches: for a cursor over a long period the planner would join and sort all of it before the first row.
    """
    batch = _batch(rows)
    while batch:
        yield from (values if values[0] == UNREADABLE else values[:-1] for values in batch)
        at, *_others, pk = batch[-1]
        if at == UNREADABLE:
            at = Subquery(rows.filter(pk=pk).values("created_at"))
        # A range of the index; of two rows of one time, the id decides.
        newer = rows.filter(created_at__gte=at).exclude(created_at=at, id__lte=pk)
        batch = _batch(newer) if len(batch) == BATCH_SIZE else []


def _batch(rows: QuerySet[Any, Any]) -> list[Sequence[Any]]:
    try:
        return list(rows[:BATCH_SIZE])
    except DataError:
        return [read_alone(rows, pk) for pk in rows.values_list("pk", flat=True)[:BATCH_SIZE]]
