"""Lists of users, decisions and the access log: the forms with their filters, and the lines of the files."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import date, datetime, time, timedelta
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo

from django import forms
from django.conf import settings
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import DataError
from django.db.models import QuerySet
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from backoffice.exports.downloads import CONTENT_TYPE, CUT_OFF, csv_file
from backoffice.exports.evidence_pack import DECISION
from backoffice.exports.rows import USER, Unreadable, dump, in_batches, read_alone
from backoffice.lists.cells import labelled
from partners.models import Mode, Partner
from users.models import AccessRecord, Status, StatusChange, User
from users.models.case import in_mode

BATCH_SIZE = 2_000
# The order of the indexes of GET /v1/users.
USER_ORDER = ("partner_id", "created_at", "id")


def day_field(label: Any) -> forms.DateField:
    """Return a field for the first or the last day of a period, in COMPLIANCE_TIME_ZONE."""
    return forms.DateField(
        label=label,
        required=False,
        # The day after the last must be a date too.
        validators=(MinValueValidator(date(2000, 1, 1)), MaxValueValidator(date(2999, 12, 31))),
        widget=forms.DateInput({"type": "date"}),
    )


class ExportForm(forms.Form):
    """What to export; everything of real users where it is empty.

    periods: the names of the first and the last day of each.
    """

    periods: tuple[tuple[str, str], ...] = ()
    mode = forms.ChoiceField(label=gettext_lazy("Mode"), required=False, choices=Mode.choices)
    partner = forms.ModelChoiceField(
        Partner.objects.all(), label=gettext_lazy("Partner"), required=False, to_field_name="slug"
    )

    def clean_mode(self) -> Mode:
        """Return the mode, live by default."""
        return Mode(self.cleaned_data["mode"] or Mode.LIVE)

    def clean(self) -> dict[str, Any]:
        """Compare the two days of each period, and the partner with the mode."""
        cleaned = super().clean() or {}
        for begin, end in self.periods:
            first, last = cleaned.get(begin), cleaned.get(end)
            if first and last and last < first:
                self.add_error(end, _("This is before the first day."))
        partner = cleaned.get("partner")
        if partner and partner.mode != cleaned.get("mode"):
            self.add_error("partner", _("This partner is of another mode."))
        return cleaned

    def within(self, period: tuple[str, str], column: str = "created_at") -> dict[str, datetime]:
        """Return the conditions of a column within a period of a valid form."""
        first, last = (self.cleaned_data[name] for name in period)
        return ({f"{column}__gte": _midnight(first)} if first else {}) | (
            {f"{column}__lt": _midnight(last + timedelta(days=1))} if last else {}
        )

    def _given(self) -> dict[str, Any]:
        return {name: value for name, value in self.cleaned_data.items() if value and value != Mode.LIVE}

    def summary(self) -> str:
        """Describe a valid form for the access log; empty if it is. None of it is personal data."""
        return ", ".join(f"{name} {value}" for name, value in self._given().items())

    def in_words(self) -> str:
        """Describe a valid form for people."""
        words: dict[str, Callable[[Any], str]] = {
            "partner": lambda partner: str(partner.name),
            "mode": lambda mode: str(Mode(mode).label),
            "status": lambda status: str(Status(status).label),
        }
        given = self._given().items()
        return "; ".join(labelled(self.fields[name].label, words.get(name, str)(value)) for name, value in given)


class UserListForm(ExportForm):
    """Which users to export."""

    periods = (("created_from", "created_to"), ("decided_from", "decided_to"))
    status = forms.ChoiceField(
        label=gettext_lazy("Status"), required=False, choices=[("", "---------"), *Status.choices]
    )
    country = forms.RegexField(
        r"\A[A-Za-z]{2}\Z",
        label=gettext_lazy("Country code"),
        required=False,
        help_text=gettext_lazy("Two letters, such as CA."),
    )
    created_from = day_field(gettext_lazy("Created from"))
    created_to = day_field(gettext_lazy("Created to"))
    decided_from = day_field(gettext_lazy("Decided from"))
    decided_to = day_field(gettext_lazy("Decided to"))

    def clean_country(self) -> str:
        """Return the code as it is stored."""
        return str(self.cleaned_data["country"]).upper()

    def users(self) -> QuerySet[User]:
        """Return the users that match a valid form, by partner and then by their creation.

        The order is of the indexes of GET /v1/users, so the first row is sent at once.
        """
        filters = self.cleaned_data
        created, decided = self.periods
        partners = [filters["partner"]] if filters["partner"] else in_mode(Partner.objects.all(), filters["mode"])
        conditions = {
            # A list of values, not a subquery: PostgreSQL keeps the order of an index whose first column is in a list.
            "partner__in": [partner.pk for partner in partners],
            "status": filters["status"],
            "country": filters["country"],
        }
        users = User.objects.filter(**{lookup: value for lookup, value in conditions.items() if value})
        if period := self.within(decided):
            decisions = in_mode(StatusChange.objects.filter(**period), filters["mode"])
            users = users.filter(pk__in=decisions.order_by().values("user"))
        users = users.filter(**self.within(created))
        return in_mode(users, filters["mode"]).order_by(*USER_ORDER)


def _midnight(day: date) -> datetime:
    return datetime.combine(day, time(), ZoneInfo(settings.COMPLIANCE_TIME_ZONE))


def csv_lines(users: QuerySet[User]) -> Iterator[str]:
    """Write a heading, and a line for each user."""
    return csv_file(USER, _rows(users))


def ndjson_lines(users: QuerySet[User]) -> Iterator[str]:
    """Write a JSON object for each user."""
    for row in _rows(users):
        names = ("error", "userId") if isinstance(row, Unreadable) else USER
        yield f"{dump(dict(zip(names, row, strict=True)))}\n"


def _rows(users: QuerySet[User]) -> Iterator[Sequence[Any]]:
    """Yield the values of each user, with a server-side cursor; those of a batch with an unreadable row one by one."""
    rows, count = users.values_list(*USER.values()), 0
    while True:
        try:
            for row in rows[count:].iterator(BATCH_SIZE):
                yield row
                count += 1
        except DataError:
            ids = list(users.values_list("pk", flat=True)[count : count + BATCH_SIZE])
            yield from (read_alone(rows, pk) for pk in ids)
            count += len(ids)
        else:
            return


# By extension: the lines, and arguments of downloads.send_lines; cut_off is the last line of an incomplete file.
FORMATS: dict[str, tuple[Callable[[QuerySet[User]], Iterator[str]], dict[str, str]]] = {
    "csv": (csv_lines, {"content_type": CONTENT_TYPE, "cut_off": CUT_OFF}),
    "ndjson": (ndjson_lines, {"content_type": "application/x-ndjson", "cut_off": '{"error":"incomplete"}\n'}),
}


# Decisions and the access log by period, the earliest first

_OF_USER = {
    "userId": "user",
    "externalId": "user__external_id",
    "firstName": "user__first_name",
    "lastName": "user__last_name",
    "partner": "user__partner__slug",
    "mode": "user__partner__mode",
}
_DECISION = {"at": "created_at"} | _OF_USER | DECISION
_ACCESS = {"at": "created_at", "what": "kind", "by": "staff__username"}
_ACCESS |= _OF_USER | {"requestId": "request_id", "detail": "detail"}


class History(NamedTuple):
    """A list of what happened to users. permission: of its page in the back office. lookups: by the column's heading.

    Its rows have `created_at` and `user`, and an index of the order.
    """

    title: Any
    permission: str
    rows: QuerySet[Any]
    lookups: dict[str, str]


# The keys are the names of the files.
HISTORIES = {
    "decisions": History(gettext_lazy("Decisions"), "users.view_statuschange", StatusChange.objects.all(), _DECISION),
    "access-log": History(gettext_lazy("Access log"), "users.view_accessrecord", AccessRecord.objects.all(), _ACCESS),
}


class HistoryForm(ExportForm):
    """Which rows to export."""

    periods = (("since", "until"),)
    field_order = ("since", "until")
    since = day_field(gettext_lazy("From this day"))
    until = day_field(gettext_lazy("To this day"))

    def __init__(self, data: Mapping[str, Any] | None = None, *, initial: dict[str, Any] | None = None) -> None:
        # The other form of the page has fields of the same names.
        super().__init__(data, auto_id="id_history_%s", initial=initial)

    def rows(self, history: History) -> QuerySet[Any]:
        """Return the rows that match a valid form, in the order of time."""
        partner = self.cleaned_data["partner"]
        rows = history.rows.filter(**self.within(self.periods[0]), **({"user__partner": partner} if partner else {}))
        return in_mode(rows, self.cleaned_data["mode"]).order_by("created_at", "id")


def history_lines(history: History, rows: QuerySet[Any]) -> Iterator[str]:
    """Write a heading, and a line for each row."""
    lookups = history.lookups.values()
    found = in_batches(rows.values(*lookups, "id"), "created_at")
    return csv_file(
        history.lookups,
        (row if isinstance(row, Unreadable) else [row[lookup] for lookup in lookups] for row in found),
    )
