"""Lists of users: the form with their filters, and the files: CSV for spreadsheets, NDJSON for programs."""

from collections.abc import Callable, Iterator, Sequence
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

from backoffice.exports.records import UNREADABLE, USER, dump, read_alone
from backoffice.exports.spreadsheets import CONTENT_TYPE, CUT_OFF, csv_file
from backoffice.lists.cells import labelled
from partners.models import Mode, Partner
from users.cases.modes import in_mode
from users.models import Status, StatusChange, User

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
        names = ("error", "userId") if row[0] == UNREADABLE else USER
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


class Format(NamedTuple):
    """A file format. cut_off: the last line of an incomplete file."""

    content_type: str
    lines: Callable[[QuerySet[User]], Iterator[str]]
    cut_off: str


# The keys are the extensions of file names.
FORMATS = {
    "csv": Format(CONTENT_TYPE, csv_lines, CUT_OFF),
    "ndjson": Format("application/x-ndjson", ndjson_lines, '{"error":"incomplete"}\n'),
}
