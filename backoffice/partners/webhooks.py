"""The admin of webhooks. A secret is shown once, where it is made; no message and log has secrets or URL paths."""

from collections.abc import Iterator
from datetime import timedelta
from functools import partial
from typing import Any

from django import forms
from django.contrib import admin
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.html import format_html
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy
from unfold.contrib.filters.admin import RelatedDropdownFilter
from unfold.enums import ActionVariant

from backoffice.actions import Act, RowAction, issuing_action
from backoffice.lists.cells import badge, moment
from backoffice.lists.pages import TABLE_ROWS, ReadOnlyAdmin, Table, latest_rows, link
from backoffice.partners.api_keys import OverlapForm, show_secrets
from backoffice.partners.deliveries import MAY_RETRY, delivery_state, latest_result
from events.models import MAX_URL_LENGTH, EventType, WebhookDelivery, WebhookEndpoint, WebhookSecret
from events.webhooks import addresses, deliveries, endpoints
from partners.models import Partner
from staff.login.factors import FRESH_SECONDS

MAY_CHANGE = "events.change_webhookendpoint"
# The header has room for two.
_LowerAction = partial(RowAction, permission=MAY_CHANGE, in_header=False)
_NOTED = '{} <span class="bo-below-name">{}</span>'


@admin.display(description=_("state"))
def state(endpoint: WebhookEndpoint) -> Any:
    """Whether events are sent to it, and why not."""
    if endpoint.removed_at is not None:
        return badge(_("removed"), "off")
    if not endpoint.is_active:
        return format_html(_NOTED, badge(_("disabled"), "bad"), endpoint.get_disabled_reason_display())
    if endpoint.failing_since:
        return format_html(_NOTED, badge(_("failing"), "warning"), moment(endpoint.failing_since))
    return badge(pgettext_lazy("webhook", "active"), "good")


def table_of(partner: Partner) -> Table:
    """The partner's webhooks."""
    return Table(
        _("Webhooks"),
        (_("webhook"), _("types"), _("state"), _("last success")),
        [
            (
                format_html(_NOTED, link(one, one), one.description),
                ", ".join(one.types) or _("all"),
                state(one),
                moment(one.last_success_at) if one.last_success_at else _("never"),
            )
            for one in endpoints.endpoints_of(partner)
        ],
        empty=_("None yet. Events can be read from the feed, too."),
    )


def version_of(endpoint: WebhookEndpoint) -> str:
    """Another one after each change of what WebhookForm has, as the database has it now."""
    row = WebhookEndpoint.objects.filter(pk=endpoint.pk)
    return repr(row.values_list("url", "types", "description").first())


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

    def clean_url(self) -> str:
        """Resolve the host name of a new URL. Raises ValidationError."""
        url: str = self.cleaned_data["url"]
        return url if url == self.initial.get("url") else addresses.checked(url)


@admin.register(WebhookEndpoint)
class WebhookEndpointAdmin(ReadOnlyAdmin):
    """Webhooks of all partners, the latest first; removed ones until the purge."""

    audited_by = "pk"
    list_display = ("__str__", "partner", state, "description", "types", "last_success_at")
    list_filter = (("partner", RelatedDropdownFilter),)
    list_select_related = ("partner",)
    ordering = ("-created_at", "-id")
    fields = (  # type: ignore[assignment]
        *("url", "partner", "description", "types", state, "last_success_at"),
        *("failing_since", "disabled_at", "removed_at", "created_at", "id"),
    )
    actions_detail = ("edit", "send_test", "retry", "rotate", "disable", "enable", "remove")
    empty_text = _("Webhooks are added on a partner's page.")

    def tables_of(self, request: HttpRequest, obj: WebhookEndpoint) -> Iterator[Table]:
        """The latest deliveries, and the secrets in force."""
        if request.user.has_perm("events.view_webhookdelivery"):
            newest = WebhookDelivery.objects.filter(endpoint=obj).order_by("-id")[: TABLE_ROWS + 1]
            yield latest_rows(
                _("Deliveries"),
                (_("created at"), _("type"), _("state"), _("attempts"), _("latest result"), _("next attempt")),
                [
                    (
                        link(one, moment(one.created_at)),
                        one.type,
                        delivery_state(one),
                        one.attempt_count,
                        latest_result(one),
                        one.next_attempt_at,
                    )
                    for one in newest
                ],
                all_rows=reverse("admin:events_webhookdelivery_changelist", query={"endpoint": obj.pk}),
            )
        yield Table(
            _("Secrets in force"),
            (_("created at"), _("ends at")),
            [
                (moment(one.created_at), moment(one.expires_at) if one.expires_at else _("when it is rotated"))
                for one in endpoints.secrets_of(obj)
            ],
            note=_("Each signs every delivery."),
        )

    def may_act(self, request: HttpRequest, obj: WebhookEndpoint) -> bool:
        return obj.removed_at is None

    @RowAction(
        title=_("Change"),
        permission=MAY_CHANGE,
        heading=_("Change the webhook"),
        button=_("Save"),
        form_class=WebhookForm,
        form_options=lambda act: {"initial": {name: getattr(act.row, name) for name in WebhookForm.base_fields}},
        icon="edit",
        variant=ActionVariant.PRIMARY,
        fresh_seconds=FRESH_SECONDS,
        version=version_of,
        lock=lambda endpoint: deliveries.lock([endpoint.pk]),
    )
    def edit(self, act: Act) -> Any:
        endpoints.change_endpoint(act.row, **act.form.cleaned_data)
        return _("The webhook is changed.")

    @RowAction(
        title=_("Send a test"),
        permission=MAY_CHANGE,
        button=_("Send"),
        note=_("An event of the type webhook.test is sent to it once. The next page shows the result."),
        icon="send",
    )
    def send_test(self, act: Act) -> HttpResponse:
        """Have a `webhook.test` sent once; its page shows the result."""
        return self.redirect_to(deliveries.create_test(endpoint=act.row))

    @_LowerAction(
        title=_("Retry deliveries"),
        permission=MAY_RETRY,
        button=_("Retry"),
        note=_("Deliveries that failed, and those that wait for their next attempt, are attempted now."),
        is_possible=lambda endpoint: endpoint.is_active,
        is_atomic=False,
    )
    def retry(self, act: Act) -> Any:
        return _("Deliveries that are attempted now: %(count)d.") % {"count": deliveries.retry(endpoint=act.row)}

    @issuing_action(
        title=_("Rotate the secret"),
        permission=MAY_CHANGE,
        button=_("Rotate"),
        note=_("The new secret is shown once, on the next page. Those in force end with the overlap."),
        form_class=OverlapForm,
        in_header=False,
        secrets=lambda endpoint: WebhookSecret.objects.filter(endpoint__partner=endpoint.partner_id),
    )
    def rotate(self, act: Act) -> HttpResponse:
        secret = endpoints.rotate_secret(act.row, timedelta(hours=act.form.cleaned_data["overlap_hours"]))
        return show_webhook_secret(act, act.row, secret)

    @_LowerAction(
        title=_("Disable"),
        heading=_("Disable the webhook"),
        note=_("Events of the time until it is enabled are never sent to it; the partner finds them in the feed."),
        is_possible=lambda endpoint: endpoint.is_active,
    )
    def disable(self, act: Act) -> Any:
        endpoints.change_endpoint(act.row, enabled=False)
        return _("The webhook is disabled.")

    @_LowerAction(
        title=_("Enable"),
        heading=_("Enable the webhook"),
        note=_("Events are sent to it from now on. Those of the time while it was disabled are in the feed."),
        is_possible=lambda endpoint: not endpoint.is_active,
    )
    def enable(self, act: Act) -> Any:
        endpoints.change_endpoint(act.row, enabled=True)
        return _("The webhook is enabled.")

    @_LowerAction(
        title=_("Remove"),
        heading=_("Remove the webhook"),
        note=_("This cannot be undone."),
        variant=ActionVariant.DANGER,
    )
    def remove(self, act: Act) -> Any:
        endpoints.remove(act.row)
        return _("The webhook is removed.")


def show_webhook_secret(act: Act, endpoint: WebhookEndpoint, secret: str) -> HttpResponse:
    """The page with a new secret of a webhook."""
    facts = (("URL", endpoint.url), ("webhookId", endpoint.pk), (_("Description"), endpoint.description))
    secrets = (("secret", _("Secret"), secret),)
    return show_secrets(act, endpoint, endpoint.partner, _("New webhook secret"), facts, secrets)
