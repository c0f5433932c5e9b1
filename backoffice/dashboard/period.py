"""The period of the dashboard: whole days in the time zone of compliance, up to today, and the one before it."""

from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from django import forms
from django.conf import settings
from django.core.validators import MinValueValidator
from django.http import QueryDict
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

# The quick choices, in days; the second is the default.
CHOICES = (7, 30, 90)
MAX_DAYS = 366


@dataclass(frozen=True, slots=True)
class Period:
    """The days from the first to the last, both included. A day may have 23 or 25 hours."""

    first: date
    last: date

    @classmethod
    def of_last(cls, days: int) -> "Period":
        """The last `days` days, today included."""
        today = _today()
        return cls(today - timedelta(days=days - 1), today)

    @classmethod
    def of_last_month(cls) -> "Period":
        """The last month of the calendar that is over."""
        last = _today().replace(day=1) - timedelta(days=1)
        return cls(last.replace(day=1), last)

    @property
    def days(self) -> list[date]:
        """Each day."""
        return [self.first + timedelta(days=number) for number in range((self.last - self.first).days + 1)]

    @property
    def begins(self) -> datetime:
        """The beginning of the first day."""
        return midnight(self.first)

    @property
    def ends(self) -> datetime:
        """The end of the last day, which is after now where that is today."""
        return midnight(self.last + timedelta(days=1))

    @property
    def before(self) -> "Period":
        """As many days before the first."""
        return Period(self.first - timedelta(days=len(self.days)), self.first - timedelta(days=1))

    @property
    def query(self) -> dict[str, str]:
        """The parameters that name it, of the dashboard and of the list of decisions."""
        return {"since": str(self.first), "until": str(self.last)}


def midnight(day: date) -> datetime:
    """The beginning of a day in the time zone of compliance."""
    return datetime.combine(day, time(), ZoneInfo(settings.COMPLIANCE_TIME_ZONE))


def _today() -> date:
    return timezone.now().astimezone(ZoneInfo(settings.COMPLIANCE_TIME_ZONE)).date()


def _day_field(label: Any) -> forms.DateField:
    # The period before the first must have dates too.
    earliest = MinValueValidator(date(2000, 1, 1))
    return forms.DateField(label=label, validators=(earliest,), widget=forms.DateInput({"type": "date"}, "%Y-%m-%d"))


class PeriodForm(forms.Form):
    """A period of one's own."""

    since = _day_field(gettext_lazy("From this day"))
    until = _day_field(gettext_lazy("To this day"))

    def clean(self) -> dict[str, Any]:
        """Refuse a period that is reversed, too long or not over."""
        cleaned = super().clean() or {}
        first, last = cleaned.get("since"), cleaned.get("until")
        if first and last and last < first:
            self.add_error("until", _("This is before the first day."))
        elif last and last > _today():
            self.add_error("until", _("This is after today."))
        elif first and last and (last - first).days >= MAX_DAYS:
            self.add_error("until", _("A period has at most %(days)s days.") % {"days": MAX_DAYS})
        return cleaned


def requested(query: QueryDict) -> tuple[Period, PeriodForm]:
    """The period of `?days=` or of `?since=&until=`, and the form; the default beside the errors of a bad one."""
    days = query.get("days", "")
    period = Period.of_last(int(days) if days in map(str, CHOICES) else CHOICES[1])
    if not {"since", "until"} & query.keys():
        return period, PeriodForm(initial=period.query)
    form = PeriodForm(query)
    return (Period(form.cleaned_data["since"], form.cleaned_data["until"]) if form.is_valid() else period), form
