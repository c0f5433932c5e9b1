"""Forms of holds, and of the list of what is due."""

from django import forms
from django.utils.translation import gettext_lazy as _

from users.models.retention import HOLD_REASON_LENGTH


class HoldForm(forms.Form):
    """The reason of a hold, or of its release."""

    reason = forms.CharField(
        label=_("Reason"), max_length=HOLD_REASON_LENGTH, widget=forms.Textarea(attrs={"rows": 3, "class": "bo-input"})
    )


class DueForm(forms.Form):
    """How far the list looks ahead."""

    days = forms.TypedChoiceField(
        label=_("Due"),
        coerce=int,
        choices=((0, _("now")), (30, _("within 30 days")), (90, _("within 90 days")), (365, _("within a year"))),
        required=False,
    )

    def days_ahead(self) -> int:
        """The number of days; 0 for any other text."""
        return int(self.cleaned_data.get("days") or 0) if self.is_valid() else 0
