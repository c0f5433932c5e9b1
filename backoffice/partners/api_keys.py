"""The admin of API keys. Digest and secret are on no page; a new secret is shown once, where it is issued."""

from datetime import datetime, timedelta
from typing import Any

from django import forms
from django.conf import settings
from django.contrib import admin
from django.core.exceptions import ValidationError
from django.db.models import Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy as _
from unfold.contrib.filters.admin import RelatedDropdownFilter
from unfold.enums import ActionVariant

from backoffice.lists.confirmed_actions import ConfirmedAction, IssuingAction, show_once
from backoffice.lists.pages import ReadOnlyAdmin
from backoffice.partners.key_columns import age, expiry, load_revokers, state
from partners.authentication import keys
from partners.authentication.keys import IssuedKey
from partners.authentication.signature_authentication import visible_prefix
from partners.models import ApiKey

MAY_ISSUE = "partners.add_apikey"
MAX_OVERLAP_HOURS = keys.MAX_OVERLAP // timedelta(hours=1)


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
        """Raises ValidationError for the past, and for a time that is too far ahead."""
        value: datetime | None = self.cleaned_data["expires_at"]
        if value is not None and value <= timezone.now():
            raise ValidationError(_("This is in the past."))
        if value is not None and value > timezone.now() + timedelta(days=keys.MAX_DAYS):
            raise ValidationError(_("This is more than 100 years ahead; leave it empty for never."))
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


@admin.register(ApiKey)
class ApiKeyAdmin(ReadOnlyAdmin):
    """Keys by their visible prefix."""

    audited_by = "prefix"
    list_display = ("prefix", "label", "partner", "mode", state, age, "last_used_at", expiry)
    list_filter = (("partner", RelatedDropdownFilter),)
    search_fields = ("prefix",)
    search_help_text = _("A key's visible prefix.")
    ordering = ("-id",)
    fields = ("prefix", "label", "partner", "mode", state, age, "created_at", "last_used_at", expiry)  # type: ignore[assignment]
    actions_detail = ("rotate", "revoke")

    def get_queryset(self, request: HttpRequest) -> QuerySet[ApiKey]:
        """Keys without digest and secret, which stay in the database."""
        return super().get_queryset(request).select_related("partner").defer("digest", "encrypted_secret")

    def prepare_rows(self, request: HttpRequest, rows: list[ApiKey]) -> None:
        """Load who revoked them."""
        load_revokers(rows)

    def matching(self, request: HttpRequest, term: str) -> Q:
        """By the prefix, also of a whole key."""
        return Q(prefix=visible_prefix(term))

    @admin.display(description=_("mode"))
    def mode(self, key: ApiKey) -> str:
        return key.partner.get_mode_display()

    def get_actions_detail(self, request: HttpRequest, object_id: Any) -> Any:
        """Rotation of a key in force, revocation of one that is not revoked."""
        key = self.get_object(request, str(object_id))
        possible = {"rotate": key and key.is_in_force, "revoke": key and key.revoked_at is None}
        actions = super().get_actions_detail(request, object_id)  # type: ignore[misc]
        return [one for one in actions if possible[one.action_name.rpartition("_")[2]]]

    @IssuingAction(
        description=_("Rotate"),
        permission=MAY_ISSUE,
        title=_("Rotate the API key"),
        button=_("Issue its successor"),
        note=_("A new key and secret, shown once, on the next page. This one expires when the overlap ends."),
        form_class=RotateForm,
        icon="autorenew",
        variant=ActionVariant.PRIMARY,
        secrets=lambda key: ApiKey.objects.filter(partner=key.partner_id),
    )
    def rotate(self, request: HttpRequest, key: ApiKey, form: RotateForm) -> HttpResponse:
        """Issue a key's successor and show it, with its secret, once."""
        return show_key(self, request, keys.rotate(key, overlap=timedelta(hours=form.cleaned_data["overlap_hours"])))

    @ConfirmedAction(
        description=_("Revoke"),
        permission="partners.change_apikey",
        title=_("Revoke the API key"),
        note=_("This cannot be undone."),
        form_class=RevokeForm,
        icon="block",
        variant=ActionVariant.DANGER,
        is_dangerous=True,
    )
    def revoke(self, request: HttpRequest, key: ApiKey, _form: RevokeForm) -> Any:
        """Revoke a key at once."""
        keys.revoke(key)
        return _("%(prefix)s is revoked.") % {"prefix": key.prefix}


def show_key(page: ReadOnlyAdmin, request: HttpRequest, issued: IssuedKey) -> HttpResponse:
    """The page with a new key and its secret."""
    return show_once(page, request, issued.record, title=_("New API key"), issued=issued)
