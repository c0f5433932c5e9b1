"""The forms of webhooks. The rules are in events/webhooks/endpoints.py."""

from datetime import timedelta
from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from events.models import EventType
from events.models.webhooks import MAX_URL_LENGTH
from events.webhooks import endpoints

MAX_OVERLAP_HOURS = endpoints.MAX_OVERLAP // timedelta(hours=1)


class WebhookForm(forms.Form):
    """The URL, types and description of a webhook."""

    url = forms.CharField(
        label="URL",
        max_length=MAX_URL_LENGTH,
        widget=forms.URLInput,
        help_text=_("https, with a host name that has public addresses; port 443, or 1024 to 65535."),
    )
    types = forms.MultipleChoiceField(
        label=_("Types"),
        choices=[(kind.value, kind.value) for kind in EventType],
        required=False,
        widget=forms.CheckboxSelectMultiple,
        help_text=_("Without any, all types are sent, new ones included."),
    )
    description = forms.CharField(
        label=_("Description"), max_length=200, required=False, help_text=_("What it is for, such as production.")
    )


class AddWebhookForm(WebhookForm):
    """A new webhook, whose host name is resolved."""

    def clean(self) -> dict[str, Any]:
        """Check the URL. Raises ValidationError."""
        values = self.cleaned_data
        if "url" not in values:
            return values
        return {**values, "url": endpoints.checked_url(values["url"])}


class RotateSecretForm(forms.Form):
    """How long the old secret signs too."""

    overlap_hours = forms.IntegerField(
        label=_("Overlap in hours"),
        min_value=0,
        max_value=MAX_OVERLAP_HOURS,
        initial=24,
        help_text=_("For so long deliveries have a signature by each secret. 0: the old secret ends at once."),
    )


class RemoveForm(forms.Form):
    """A confirmation."""

    confirmed = forms.BooleanField(label=_("Yes, send it nothing any more"))
