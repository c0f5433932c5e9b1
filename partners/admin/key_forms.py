"""The forms by which staff issue, rotate and revoke API keys."""

from datetime import datetime, timedelta

from django import forms
from django.core.exceptions import ValidationError
from django.http import QueryDict
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from partners.admin.sections import Action, ActionForm
from partners.models import ApiKey, Partner

MAY_ISSUE = "partners.add_apikey"
MAY_REVOKE = "partners.change_apikey"
LONGEST_OVERLAP_HOURS = 30 * 24


class IssueForm(ActionForm):
    """What a new key is given."""

    label = forms.CharField(
        label=_("Label"), max_length=100, required=False, help_text=_("What it is for, such as production.")
    )
    expires_at = forms.DateTimeField(
        label=_("Expires at"),
        required=False,
        widget=forms.DateTimeInput(attrs={"type": "datetime-local"}, format="%Y-%m-%dT%H:%M"),
    )

    def __init__(self, *, version: str, data: QueryDict | None = None) -> None:
        super().__init__(version=version, data=data)
        self.fields["expires_at"].help_text = _("Time zone %(zone)s; empty for never.") % {
            "zone": timezone.get_current_timezone_name()
        }

    def clean_expires_at(self) -> datetime | None:
        """An instant to come. Raises ValidationError."""
        value: datetime | None = self.cleaned_data["expires_at"]
        if value is not None and value <= timezone.now():
            raise ValidationError(_("This has passed already."))
        return value


class RotateForm(ActionForm):
    """How long the old key goes on."""

    overlap_hours = forms.IntegerField(
        label=_("Overlap in hours"),
        min_value=0,
        max_value=LONGEST_OVERLAP_HOURS,
        initial=24,
        help_text=_("For so long both keys are accepted; then the old one is refused."),
    )

    @property
    def overlap(self) -> timedelta:
        """Of a valid form."""
        return timedelta(hours=self.cleaned_data["overlap_hours"])


class RevokeForm(ActionForm):
    """That it is meant."""

    confirmed = forms.BooleanField(label=_("Yes, refuse this key from the next request on"))


def version(partner: Partner | int) -> str:
    """What the forms that make keys are shown for: the newest key, so that sending one again makes no second key."""
    newest = ApiKey.objects.filter(partner=partner).order_by("-pk").values_list("pk", flat=True).first()
    return str(newest or "")


def is_in_force(key: ApiKey) -> bool:
    """Whether the key is neither revoked nor expired; its partner may be disabled all the same."""
    return key.is_in_force


def issue_action(partner: Partner, data: QueryDict | None = None) -> Action:
    """The form for a new key of this partner."""
    return Action(
        title=_("Issue an API key"),
        button=_("Issue"),
        url=reverse("admin:partners_apikey_issue", args=(partner.pk,)),
        form=IssueForm(version=version(partner), data=data),
        note=_("The key and its secret are shown once, on the next page."),
    )


def rotate_action(key: ApiKey, data: QueryDict | None = None) -> Action:
    """The form for putting a new key in this one's place."""
    return Action(
        title=_("Rotate"),
        button=_("Issue its successor"),
        url=reverse("admin:partners_apikey_rotate", args=(key.pk,)),
        form=RotateForm(version=version(key.partner_id), data=data),
        note=_("A new key and secret, shown once, on the next page. This one expires when the overlap ends."),
    )


def revoke_action(key: ApiKey, data: QueryDict | None = None) -> Action:
    """The form for ending this key at once."""
    return Action(
        title=_("Revoke"),
        button=_("Revoke"),
        url=reverse("admin:partners_apikey_revoke", args=(key.pk,)),
        form=RevokeForm(version="", data=data),
        note=_("This cannot be undone."),
        is_dangerous=True,
    )
