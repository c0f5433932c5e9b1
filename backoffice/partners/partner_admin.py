"""The admin of partners."""

from collections.abc import Iterator

from django.contrib import admin
from django.db.models import Count, Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.html import format_html
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from unfold.enums import ActionVariant

from backoffice.actions import Act, issuing_action
from backoffice.lists.cells import badge, column, moment
from backoffice.lists.pages import TABLE_ROWS, ReadOnlyAdmin, Table, latest_rows, link
from backoffice.partners.api_keys import MAY_ISSUE, IssueForm, expiry, show_key, state
from backoffice.partners.webhooks import WebhookForm, show_webhook_secret, table_of
from events.models import WebhookSecret
from events.webhooks import endpoints
from partners import request_log
from partners.authentication import keys
from partners.models import Partner, SandboxRequest, in_force

admin.site.index_title = _("Back office")
admin.site.site_url = None


@admin.register(Partner)
class PartnerAdmin(ReadOnlyAdmin):
    """Partners; the slug cannot be changed."""

    audited_by = "slug"
    list_display = ("slug", "name", "mode", "enabled", "keys_in_force", "limit", "created_at")
    list_filter = ("mode", "enabled")
    search_fields = ("slug", "name")
    ordering = ("slug",)
    fields = ("slug", "name", "mode", "enabled", "rate_limit", "created_at")
    addable_fields = ("slug", "name", "mode", "enabled", "rate_limit")
    editable_fields = ("name", "enabled", "rate_limit")
    add_label = _("Add a partner")
    actions_detail = ("issue", "add_webhook")

    keys_in_force = column(_("keys in force"), lambda partner: partner.active_keys or badge(_("none"), "off"))

    def get_queryset(self, request: HttpRequest) -> QuerySet[Partner]:
        """Partners with the number of their keys in force."""
        partners: QuerySet[Partner] = super().get_queryset(request)
        return partners.annotate(active_keys=Count("api_keys", filter=in_force("api_keys__")))

    @admin.display(description=_("rate limit"))
    def limit(self, partner: Partner) -> str:
        return partner.rate_limit or gettext("%(limit)s (default)") % {"limit": partner.effective_rate_limit}

    def matching(self, request: HttpRequest, term: str) -> Q:
        """Partners are few, so a part of the slug or of the name is enough."""
        return Q(slug__icontains=term) | Q(name__icontains=term)

    def tables_of(self, request: HttpRequest, obj: Partner) -> Iterator[Table]:
        """The partner's keys and webhooks, and a sandbox partner's latest requests."""
        if request.user.has_perm("partners.view_apikey"):
            newest = obj.api_keys.select_related("partner").defer("digest", "encrypted_secret")
            yield latest_rows(
                _("API keys"),
                (_("prefix"), _("label"), _("state"), _("created at"), _("last used at"), _("expires at")),
                [
                    (link(key, key.prefix), key.label, state(key), key.created_at, key.last_used_at, expiry(key))
                    for key in newest.order_by("-created_at", "-id")[: TABLE_ROWS + 1]
                ],
                all_rows=reverse("admin:partners_apikey_changelist", query={"partner__id__exact": obj.pk}),
            )
            if request.user.has_perm("events.view_webhookendpoint"):
                yield table_of(obj)
        if obj.is_sandbox and request.user.has_perm("partners.view_sandboxrequest"):
            yield Table(
                _("Latest requests"),
                (_("time"), _("request"), _("status"), _("reason"), _("duration")),
                [
                    (moment(one.created_at), _request(one), one.status, _reason(one), f"{one.milliseconds} ms")
                    for one in request_log.last_requests(obj.pk)[:TABLE_ROWS]
                ],
                note=_("The latest %(rows)d of the last 24 hours, without bodies.") % {"rows": TABLE_ROWS},
                empty=_("None in the last 24 hours."),
            )

    @issuing_action(
        title=_("Issue an API key"),
        permission=MAY_ISSUE,
        button=_("Issue"),
        note=_("The key and its secret are shown once, on the next page."),
        form_class=IssueForm,
        icon="key",
        variant=ActionVariant.PRIMARY,
        secrets=lambda partner: partner.api_keys.all(),
    )
    def issue(self, act: Act) -> HttpResponse:
        return show_key(act, keys.issue(partner=act.row, **act.form.cleaned_data))

    @issuing_action(
        title=_("Add a webhook"),
        permission="events.add_webhookendpoint",
        button=_("Add"),
        note=_("Events are sent to it from now on. Its secret is shown once, on the next page."),
        form_class=WebhookForm,
        icon="webhook",
        secrets=lambda partner: WebhookSecret.objects.filter(endpoint__partner=partner),
    )
    def add_webhook(self, act: Act) -> HttpResponse:
        return show_webhook_secret(act, *endpoints.create_endpoint(partner=act.row, **act.form.cleaned_data))


def _request(row: SandboxRequest) -> str:
    target = f"{row.path}?{row.query}" if row.query else row.path
    return format_html('<code>{} {}</code> <span class="bo-below-name">{}</span>', row.method, target, row.request_id)


def _reason(row: SandboxRequest) -> str | None:
    """The cause of a refused signature, or the error and the fields of a refused body; codes as on the wire."""
    if row.diagnosis is not None:
        return str(row.diagnosis["cause"])
    fields = ", ".join(f"{one['field']} ({one['code']})" for one in row.field_errors)
    return f"{row.error} {fields}" if row.error else None
