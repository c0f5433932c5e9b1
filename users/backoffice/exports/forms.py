"""The filters of a list of users."""

from datetime import date, datetime, time, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from django import forms
from django.conf import settings
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db.models import QuerySet
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from partners.models import Partner
from users.models import Status, User


def _day_field(label: Any) -> forms.DateField:
    return forms.DateField(
        label=label,
        required=False,
        # The day after the last must be a date too.
        validators=(MinValueValidator(date(2000, 1, 1)), MaxValueValidator(date(2999, 12, 31))),
        widget=forms.DateInput({"type": "date"}),
    )


class UserListForm(forms.Form):
    """Which users to export; all of them where it is empty."""

    partner = forms.ModelChoiceField(
        Partner.objects.all(), label=gettext_lazy("Partner"), required=False, to_field_name="slug"
    )
    status = forms.ChoiceField(
        label=gettext_lazy("Status"), required=False, choices=[("", "---------"), *Status.choices]
    )
    country = forms.RegexField(
        r"\A[A-Za-z]{2}\Z",
        label=gettext_lazy("Country code"),
        required=False,
        help_text=gettext_lazy("Two letters, such as CA."),
    )
    created_from = _day_field(gettext_lazy("Created from"))
    created_to = _day_field(gettext_lazy("Created to"))

    def clean_country(self) -> str:
        """Return the code as it is stored."""
        return str(self.cleaned_data["country"]).upper()

    def clean(self) -> dict[str, Any]:
        """Compare the two days."""
        cleaned = super().clean() or {}
        first, last = cleaned.get("created_from"), cleaned.get("created_to")
        if first and last and last < first:
            self.add_error("created_to", _("This is before the first day."))
        return cleaned

    def users(self) -> QuerySet[User]:
        """Return the users that match a valid form."""
        filters = self.cleaned_data
        first, last = filters["created_from"], filters["created_to"]
        conditions = {
            "partner": filters["partner"],
            "status": filters["status"],
            "country": filters["country"],
            "created_at__gte": first and _midnight(first),
            "created_at__lt": last and _midnight(last + timedelta(days=1)),
        }
        return User.objects.filter(**{lookup: value for lookup, value in conditions.items() if value})

    def summary(self) -> str:
        """Describe a valid form for the access log. None of it is personal data."""
        return ", ".join(f"{name} {value}" for name, value in self.cleaned_data.items() if value) or "all users"


def _midnight(day: date) -> datetime:
    return datetime.combine(day, time(), ZoneInfo(settings.COMPLIANCE_TIME_ZONE))
