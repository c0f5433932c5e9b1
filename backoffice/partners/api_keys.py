"""API keys: columns and admin. Digest and secret are on no page; a new secret is shown once, where it is issued."""

from datetime import datetime, timedelta
from typing import Any

from django import forms
from django.conf import settings
from django.contrib import admin
from django.core.exceptions import ValidationError
from django.db.models import Model, Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy
from unfold.contrib.filters.admin import RelatedDropdownFilter
from unfold.enums import ActionVariant

from backoffice.actions import Act, RowAction, issuing_action, show_once
from backoffice.lists.cells import badge, labelled, moment
from backoffice.lists.pages import ReadOnlyAdmin
from partners.authentication import keys
from partners.authentication.keys import IssuedKey
from partners.authentication.signature_authentication import visible_prefix
from partners.models import ApiKey, Partner

MAY_ISSUE = "partners.add_apikey"
MAX_OVERLAP_HOURS = 7 * 24
EXPIRES_SOON = timedelta(days=14)


@admin.display(description=_("state"))
def state(key: ApiKey) -> Any:
    """Whether requests with this key are accepted; of a revoked one, when that ended."""
    if key.revoked_at is not None:
        cell = '{} <span class="bo-quiet bo-below-name">{}</span>'
        return format_html(cell, badge(_("revoked"), "off"), moment(key.revoked_at))
    if not key.is_in_force:
        return badge(_("expired"), "off")
    if not key.partner.enabled:
        return badge(_("partner disabled"), "off")
    return badge(pgettext_lazy("API key", "active"), "good")


@admin.display(description=_("expires at"))
def expiry(key: ApiKey) -> Any:
    """When the key expires, with a warning where that is soon."""
    if key.expires_at is None:
        return _("never")
    text = moment(key.expires_at)
    is_soon = key.is_in_force and key.expires_at - timezone.now() < EXPIRES_SOON
    return format_html("{} {}", text, badge(_("soon"), "warning")) if is_soon else text


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


class OverlapForm(forms.Form):
    """How long the secret that is rotated stays in force."""

    overlap_hours = forms.IntegerField(
        label=_("Overlap in hours"),
        min_value=0,
        max_value=MAX_OVERLAP_HOURS,
        initial=24,
        help_text=_("For so long both are in force. 0: the old one ends at once."),
    )


@admin.register(ApiKey)
class ApiKeyAdmin(ReadOnlyAdmin):
    """Keys by their visible prefix."""

    audited_by = "prefix"
    list_display = ("prefix", "label", "partner", "partner__mode", state, "created_at", "last_used_at", expiry)
    list_filter = (("partner", RelatedDropdownFilter),)
    search_fields = ("prefix",)
    search_help_text = _("A key's visible prefix.")
    ordering = ("-id",)
    fields = ("prefix", "label", "partner", state, "created_at", "last_used_at", expiry)  # type: ignore[assignment]
    actions_detail = ("rotate", "revoke")

    def get_queryset(self, request: HttpRequest) -> QuerySet[ApiKey]:
        """Keys without digest and secret, which stay in the database."""
        return super().get_queryset(request).select_related("partner").defer("digest", "encrypted_secret")

    def matching(self, request: HttpRequest, term: str) -> Q:
        """By the prefix, also of a whole key."""
        return Q(prefix=visible_prefix(term))

    @issuing_action(
        title=_("Rotate"),
        permission=MAY_ISSUE,
        heading=_("Rotate the API key"),
        button=_("Issue its successor"),
        note=_("A new key and secret, shown once, on the next page. This one expires when the overlap ends."),
        form_class=OverlapForm,
        icon="autorenew",
        variant=ActionVariant.PRIMARY,
        is_possible=lambda key: key.is_in_force,
        secrets=lambda key: ApiKey.objects.filter(partner=key.partner_id),
    )
    def rotate(self, act: Act) -> HttpResponse:
        return show_key(act, keys.rotate(act.row, overlap=timedelta(hours=act.form.cleaned_data["overlap_hours"])))

    @RowAction(
        title=_("Revoke"),
        permission="partners.change_apikey",
        heading=_("Revoke the API key"),
        note=_("This cannot be undone."),
        icon="block",
        variant=ActionVariant.DANGER,
        is_possible=lambda key: key.revoked_at is None,
    )
    def revoke(self, act: Act) -> Any:
        keys.revoke(act.row)
        return _("%(prefix)s is revoked.") % {"prefix": act.row.prefix}


def show_key(act: Act, issued: IssuedKey) -> HttpResponse:
    """The page with a new key and its secret."""
    key = issued.record
    facts = ((_("Label"), key.label), (_("Expires"), key.expires_at or _("never")))
    secrets = (("api-key", _("API key"), issued.api_key), ("secret", _("Secret"), issued.secret))
    return show_secrets(act, key, key.partner, _("New API key"), facts, secrets)


def show_secrets(act: Act, row: Model, partner: Partner, title: Any, facts: Any, secrets: Any) -> HttpResponse:
    """The page with new secrets of a partner, as `show_once` has it."""
    return show_once(
        act,
        row,
        title=title,
        heading=labelled(title, partner),
        warning=_("Copy the secret now: it is shown this once and cannot be read back."),
        facts=((_("Partner"), f"{partner.name} ({partner})"), *facts),
        secrets=secrets,
        hint=_("Give it to the partner by a way that only the partner reads. Never by email or chat in the clear."),
        button=_("I have copied it"),
    )
