"""Lists of users, decisions and the access log: the forms with their filters, and the rows of the files."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from itertools import chain, islice
from typing import Any

from django import forms
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db.models import QuerySet
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from backoffice.exports.records import ACCESS, DECISION, USER, in_batches
from backoffice.lists.cells import labelled
from partners.models import Mode, Partner
from users.models import AccessRecord, Status, StatusChange, User
from users.models.case import in_mode
from users.profile.field_rules import midnight

EXPORT_USERS = "users.export_user"


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
    """What to export; everything of real users where it is empty. periods: names of first and last days."""

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

    def within(self, period: tuple[str, str]) -> dict[str, datetime]:
        """Return the conditions of the creation within a period of a valid form."""
        first, last = (self.cleaned_data[name] for name in period)
        begin = {"created_at__gte": midnight(first)} if first else {}
        return begin | ({"created_at__lt": midnight(last + timedelta(days=1))} if last else {})

    def _given(self) -> dict[str, Any]:
        return {name: value for name, value in self.cleaned_data.items() if value and value != Mode.LIVE}

    def summary(self) -> str:
        """Describe a valid form for the access log. None of it is personal data."""
        return ", ".join(f"{name} {value}" for name, value in self._given().items()) or "all"

    def in_words(self) -> str:
        """Describe a valid form for people."""
        words, given = dict(Mode.choices + Status.choices), self._given().items()
        texts = [labelled(self.fields[name].label, words.get(value, value)) for name, value in given]
        return "; ".join(texts) or _("All users")


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

    def users(self, most: int) -> list[User]:
        """Return the first users that match a valid form."""
        ranges = self.ranges(User.objects.select_related("partner").order_by("created_at", "id"))
        return [*islice(chain.from_iterable(rows[:most] for rows in ranges), most)]

    def ranges(self, rows: QuerySet[User]) -> Iterator[QuerySet[User]]:
        """Yield the users that match a valid form, of one partner after another: each is a range of an index."""
        given = self.cleaned_data
        created, decided = self.periods
        rows = rows.filter(**{name: given[name] for name in ("status", "country") if given[name]})
        rows = rows.filter(**self.within(created))
        if period := self.within(decided):
            decisions = in_mode(StatusChange.objects.filter(**period), given["mode"])
            rows = rows.filter(pk__in=decisions.order_by().values("user"))
        of_mode = in_mode(Partner.objects.order_by("id"), given["mode"])
        for partner in [given["partner"]] if given["partner"] else of_mode:
            yield rows.filter(partner=partner)


class HistoryForm(ExportForm):
    """Which rows of decisions, or of the access log, to export."""

    periods = (("since", "until"),)
    field_order = ("since", "until")
    since = day_field(gettext_lazy("From this day"))
    until = day_field(gettext_lazy("To this day"))

    def __init__(self, data: Any = None, **kwargs: Any) -> None:
        # The other form of the page has fields of the same names.
        super().__init__(data, auto_id="id_history_%s", **kwargs)

    def ranges(self, rows: QuerySet[Any]) -> Iterator[QuerySet[Any]]:
        """Yield the rows that match a valid form, a range of an index."""
        partner = self.cleaned_data["partner"]
        rows = rows.filter(**self.within(self.periods[0]), **({"user__partner": partner} if partner else {}))
        yield in_mode(rows, self.cleaned_data["mode"])


@dataclass(frozen=True)
class ExportList:
    """A list that is exported, in an index's order. permission: of its page. lookups: by the column's heading."""

    title: Any
    permission: str
    form_class: Any
    model: Any
    lookups: dict[str, str]

    def rows(self, form: Any) -> Iterator[list[Any]]:
        """Yield the rows that match a valid form, those of a user, or in all, the earliest first."""
        for found in form.ranges(self.model.objects.all()):
            for record in in_batches(found, self.lookups, "created_at", "id"):
                yield [*record.values()]


_OF_USER = {
    "userId": "user",
    "externalId": "user__external_id",
    "firstName": "user__first_name",
    "lastName": "user__last_name",
    "partner": "user__partner__slug",
    "mode": "user__partner__mode",
}
_DECISION = {"at": "created_at"} | _OF_USER | DECISION
_ACCESS = {"at": "created_at", "what": "kind", "by": "staff__username"} | _OF_USER | ACCESS
# By the name of the file.
LISTS = {
    "users": ExportList(gettext_lazy("Users"), EXPORT_USERS, UserListForm, User, USER),
    "decisions": ExportList(gettext_lazy("Decisions"), "users.view_statuschange", HistoryForm, StatusChange, _DECISION),
    "access-log": ExportList(gettext_lazy("Access log"), "users.view_accessrecord", HistoryForm, AccessRecord, _ACCESS),
}
