"""The forms by which staff issue, rotate and revoke API keys."""

from datetime import datetime

from django import forms
from django.conf import settings
from django.core.exceptions import ValidationError
from django.utils import timezone
from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy as _

from partners.models import ApiKey

MAX_OVERLAP_HOURS = 30 * 24


class IssueForm(forms.Form):
    """The label and the expiry of a new key."""

    label = forms.CharField(
        label=_("Label"), max_length=100, required=False, help_text=_("What it is for, such as production.")
    )
    expires_at = forms.DateTimeField(
        label=_("Expires at"),
        required=False,
        help_text=format_lazy(_("Time zone {zone}; empty for never."), zone=settings.COMPLIANCE_TIME_ZONE),
        widget=forms.DateTimeInput(attrs={"type": "datetime-local"}, format="%Y-%m-%dT%H:%M"),
    )

    def clean_expires_at(self) -> datetime | None:
        """Raises ValidationError for the past."""
        value: datetime | None = self.cleaned_data["expires_at"]
        if value is not None and value <= timezone.now():
            raise ValidationError(_("This is in the past."))
        return value


class RotateForm(forms.Form):
    """How long the old key stays in force."""

    overlap_hours = forms.IntegerField(
        label=_("Overlap in hours"),
        min_value=0,
        max_value=MAX_OVERLAP_HOURS,
        initial=24,
        help_text=_("For so long both keys are accepted; then the old one is refused."),
    )


class RevokeForm(forms.Form):
    """A confirmation."""

    confirmed = forms.BooleanField(label=_("Yes, refuse this key from the next request on"))


def newest_key(partner_id: int) -> str:
    """The version of the forms that make keys: a form that is sent twice makes one key."""
    newest = ApiKey.objects.filter(partner=partner_id).order_by("-pk").values_list("pk", flat=True).first()
    return str(newest or "")
