"""The back office of partners and their API keys."""

from collections.abc import Iterator
from typing import Any

from django.conf import settings
from django.contrib import admin, messages
from django.db import transaction
from django.db.models import Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils.html import format_html
from django.utils.module_loading import import_string
from django.utils.translation import gettext_lazy as _

from partners.admin import key_forms
from partners.admin.key_age import age, expiry, keys_in_force, state, with_keys
from partners.admin.key_forms import MAY_ISSUE, MAY_REVOKE
from partners.admin.sections import SHOWN, Action, SectionedAdmin, Table, table
from partners.authentication import keys
from partners.authentication.keys import KEY_PREFIX, VISIBLE_CHARACTERS, IssuedKey
from partners.models import ApiKey, Partner
from partners.usage.tables import failures_table, requests_table

admin.site.index_title = _("Back office")
admin.site.site_url = None


@admin.register(Partner)
class PartnerAdmin(SectionedAdmin):
    """Partners; the slug is given once."""

    list_display = ("slug", "name", "enabled", keys_in_force, "rate_limit", "created_at")
    list_filter = ("enabled",)
    search_fields = ("slug", "name")
    ordering = ("slug",)
    fields = ("slug", "name", "enabled", "rate_limit", "created_at")
    addable_fields = ("slug", "name", "enabled", "rate_limit")
    editable_fields = ("name", "enabled", "rate_limit")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Partner]:
        """With what the list says of their keys."""
        return with_keys(super().get_queryset(request))

    def matching(self, term: str) -> Q:
        """Partners are few: a part of the slug or of the name will do."""
        return Q(slug__icontains=term) | Q(name__icontains=term)

    def actions_of(self, request: HttpRequest, obj: Partner) -> Iterator[Action]:
        """Issuing a key."""
        if request.user.has_perm(MAY_ISSUE):
            yield key_forms.issue_action(obj)

    def tables_of(self, request: HttpRequest, obj: Partner) -> Iterator[Table]:
        """The partner's keys, what requests with them were answered, and what they were refused for."""
        if not request.user.has_perm("partners.view_apikey"):
            return
        latest = (
            obj.api_keys.select_related("partner")
            .defer("digest", "encrypted_secret")
            .order_by("-created_at", "-id")[: SHOWN + 1]
        )
        yield table(
            _("API keys"),
            (_("prefix"), _("label"), _("state"), _("age"), _("last used at"), _("expires at")),
            [
                (_link(key), key.label or "–", state(key), age(key), key.last_used_at or _("never"), expiry(key))
                for key in latest
            ],
            all_rows=reverse("admin:partners_apikey_changelist") + f"?partner__id__exact={obj.pk}",
        )
        yield requests_table(obj)
        yield failures_table(obj)


def _link(key: ApiKey) -> str:
    return format_html('<a href="{}">{}</a>', reverse("admin:partners_apikey_change", args=(key.pk,)), key.prefix)


@admin.register(ApiKey)
class ApiKeyAdmin(SectionedAdmin):
    """Keys by their visible prefix. Digest and secret are on no page; a new key is shown once, where it is issued."""

    list_display = ("prefix", "label", "partner", state, age, "last_used_at", expiry)
    list_filter = ("partner",)
    list_select_related = ("partner",)
    search_fields = ("prefix",)
    search_help_text = _("A key's visible prefix.")
    ordering = ("-id",)
    continuation = ("id__lt", "id")
    fields = ("prefix", "label", "partner", "state", "age", "created_at", "last_used_at", "expiry", "revoked_at")

    @admin.display(description=_("state"))
    def state(self, key: ApiKey) -> Any:
        """As in the list."""
        return state(key)

    @admin.display(description=_("age"))
    def age(self, key: ApiKey) -> Any:
        """As in the list."""
        return age(key)

    @admin.display(description=_("expires at"))
    def expiry(self, key: ApiKey) -> Any:
        """As in the list."""
        return expiry(key)

    def get_queryset(self, request: HttpRequest) -> QuerySet[ApiKey]:
        """Neither the digest nor the secret leaves the database."""
        return super().get_queryset(request).defer("digest", "encrypted_secret")

    def matching(self, term: str) -> Q:
        """By the prefix, also of a whole key."""
        return Q(prefix=term[: len(KEY_PREFIX) + VISIBLE_CHARACTERS])

    def actions_of(self, request: HttpRequest, obj: ApiKey) -> Iterator[Action]:
        """Rotating and revoking, as long as there is anything to end."""
        if request.user.has_perm(MAY_ISSUE) and key_forms.is_in_force(obj):
            yield key_forms.rotate_action(obj)
        if request.user.has_perm(MAY_REVOKE) and obj.revoked_at is None:
            yield key_forms.revoke_action(obj)

    def get_urls(self) -> list[URLPattern]:
        """Django's, and the actions'."""
        wrap = self.admin_site.admin_view
        return [
            path("issue/<int:partner_id>/", wrap(self.issue), name="partners_apikey_issue"),
            path("<int:key_id>/rotate/", wrap(self.rotate), name="partners_apikey_rotate"),
            path("<int:key_id>/revoke/", wrap(self.revoke), name="partners_apikey_revoke"),
            *super().get_urls(),
        ]

    def issue(self, request: HttpRequest, partner_id: int) -> HttpResponse:
        """Issues a key to a partner and shows it, with its secret, this once."""
        self.require(request, MAY_ISSUE)
        partner = get_object_or_404(Partner, pk=partner_id)
        if request.method != "POST":
            return self.page_of(partner)
        if (reauthentication := require_reauthentication(request)) is not None:
            return reauthentication
        with transaction.atomic():
            _hold(partner.pk)
            action = key_forms.issue_action(partner, request.POST)
            if action.form.is_valid():
                given = action.form.cleaned_data
                issued = keys.issue(partner=partner, label=given["label"], expires_at=given["expires_at"])
                self.log_addition(request, issued.record, f"Issued to {partner.slug}.")
                return self._show_once(request, issued)
        return self._partners_page().show_again(request, partner, action)

    def rotate(self, request: HttpRequest, key_id: int) -> HttpResponse:
        """Issues a key's successor and shows it, with its secret, this once."""
        self.require(request, MAY_ISSUE)
        key = get_object_or_404(ApiKey.objects.select_related("partner"), pk=key_id)
        if request.method != "POST":
            return self.page_of(key)
        if (reauthentication := require_reauthentication(request)) is not None:
            return reauthentication
        with transaction.atomic():
            _hold(key.partner_id)
            action = key_forms.rotate_action(key, request.POST)
            form = action.form
            if isinstance(form, key_forms.RotateForm) and form.is_valid():
                try:
                    issued = keys.rotate(key, overlap=form.overlap)
                except ValueError as error:
                    form.add_error(None, str(error))
                else:
                    hours = form.cleaned_data["overlap_hours"]
                    self.log_change(request, key, f"Rotated to {issued.record.prefix}, overlap {hours} h.")
                    self.log_addition(request, issued.record, f"Issued as the successor of {key.prefix}.")
                    return self._show_once(request, issued)
        return self.show_again(request, key, action)

    def revoke(self, request: HttpRequest, key_id: int) -> HttpResponse:
        """Ends a key at once."""
        self.require(request, MAY_REVOKE)
        key = get_object_or_404(ApiKey.objects.select_related("partner"), pk=key_id)
        if request.method != "POST":
            return self.page_of(key)
        action = key_forms.revoke_action(key, request.POST)
        if not action.form.is_valid():
            return self.show_again(request, key, action)
        with transaction.atomic():
            keys.revoke(key)
            self.log_change(request, key, "Revoked.")
        messages.success(request, _("%(prefix)s is revoked.") % {"prefix": key.prefix})
        return self.page_of(key)

    def _show_once(self, request: HttpRequest, issued: IssuedKey) -> HttpResponse:
        # The answer to the POST itself, which no cache keeps (admin_view sends no-store): nothing else ever holds them.
        context = self.admin_site.each_context(request) | {
            "title": _("New API key"),
            "opts": self.opts,
            "issued": issued,
        }
        return TemplateResponse(request, "admin/partners/apikey/issued.html", context)

    def _partners_page(self) -> SectionedAdmin:
        page = self.admin_site.get_model_admin(Partner)
        assert isinstance(page, SectionedAdmin)  # noqa: S101 - it is registered above
        return page


def require_reauthentication(request: HttpRequest) -> HttpResponse | None:
    """Where to send a person who has to give a second factor again before a secret is shown, or None."""
    check = import_string(settings.REQUIRE_REAUTHENTICATION)
    response: HttpResponse | None = check(request)
    return response


def _hold(partner_id: int) -> None:
    # Two forms sent at once are one key and a refusal.
    Partner.objects.select_for_update(no_key=True).get(pk=partner_id)
