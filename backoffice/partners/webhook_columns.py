"""Columns about webhooks and their deliveries, and the table of a partner's webhooks."""

from collections.abc import Mapping
from contextlib import suppress
from datetime import datetime
from typing import Any

from django.contrib import admin
from django.urls import reverse
from django.utils.html import format_html, format_html_join
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from backoffice.lists.cells import badge, moment
from backoffice.lists.pages import Table
from events.models import DeliveryState, WebhookDelivery, WebhookEndpoint
from events.webhooks import endpoints
from partners.models import Partner

_BADGES = {
    DeliveryState.PENDING: "warning",
    DeliveryState.DELIVERED: "good",
    DeliveryState.FAILED: "bad",
    DeliveryState.SKIPPED: "off",
}
# The keys are the codes of events/webhooks/sending.py.
_ERRORS: dict[str, Any] = {
    "timeout": _("no response in time"),
    "address": _("address not public, or URL not allowed"),
    "dns": _("host name not resolved"),
    "tlsExpired": _("certificate expired"),
    "tlsName": _("certificate of another name"),
    "tlsSelfSigned": _("self-signed certificate"),
    "tlsIssuer": _("certificate of an unknown authority, or sent without its intermediate certificates"),
    "tlsProtocol": _("TLS failed"),
    "tls": _("certificate not valid"),
    "protocol": _("invalid HTTP, or closed without a response"),
    "connect": _("not connected"),
    "secret": _("secret cannot be decrypted"),
    "internal": _("internal error"),
}


@admin.display(description=_("state"))
def state(endpoint: WebhookEndpoint) -> Any:
    """Whether events are sent to it, and why not."""
    if endpoint.removed_at is not None:
        return badge(_("removed"), "off")
    if not endpoint.is_active:
        reason = endpoint.get_disabled_reason_display()
        return format_html('{} <span class="bo-below-name">{}</span>', badge(_("disabled"), "bad"), reason)
    return (
        badge(_("failing"), "warning") if endpoint.failing_since else badge(pgettext_lazy("webhook", "active"), "good")
    )


@admin.display(description=_("types"))
def event_types(endpoint: WebhookEndpoint) -> Any:
    """The types as on the wire."""
    return format_html_join(", ", '<span class="bo-nowrap">{}</span>', ((one,) for one in endpoint.types)) or _("all")


@admin.display(description=_("last success"))
def last_success(endpoint: WebhookEndpoint) -> Any:
    """When a delivery last succeeded."""
    return moment(endpoint.last_success_at) if endpoint.last_success_at else _("never")


@admin.display(description=_("webhook"))
def endpoint_link(delivery: WebhookDelivery) -> str:
    """A link to the webhook's page, by its host."""
    return link(delivery.endpoint, delivery.endpoint)


@admin.display(description=_("partner"))
def partner_of(delivery: WebhookDelivery) -> str:
    """The webhook's partner."""
    return str(delivery.endpoint.partner)


@admin.display(description=_("state"))
def delivery_state(delivery: WebhookDelivery) -> str:
    """The state as a badge."""
    return badge(delivery.get_state_display(), _BADGES[DeliveryState(delivery.state)])


@admin.display(description=_("latest result"))
def latest_result(delivery: WebhookDelivery) -> Any:
    """The status or error of the latest attempt."""
    return result(delivery.attempts[-1]) if delivery.attempts else "–"


@admin.display(description=_("next attempt"))
def next_attempt(delivery: WebhookDelivery) -> str:
    """When it is attempted next."""
    return moment(delivery.next_attempt_at if delivery.state == DeliveryState.PENDING else None)


def result(attempt: Mapping[str, Any]) -> Any:
    """The HTTP status or the error of an attempt."""
    if attempt.get("status"):
        return f"HTTP {attempt['status']}"
    code = attempt.get("error", "")
    return _ERRORS.get(code, code)


def attempt_row(attempt: Mapping[str, Any]) -> tuple[Any, ...]:
    """The time, result and duration of an attempt."""
    at = attempt["at"]
    with suppress(ValueError, OverflowError):
        at = moment(datetime.fromisoformat(at))
    return at, result(attempt), f"{attempt['milliseconds']} ms"


def link(row: WebhookEndpoint | WebhookDelivery, text: object) -> str:
    """A link to the row's page."""
    model = "webhookendpoint" if isinstance(row, WebhookEndpoint) else "webhookdelivery"
    return format_html('<a href="{}">{}</a>', reverse(f"admin:events_{model}_change", args=(row.pk,)), text)


def table_of(partner: Partner) -> Table:
    """The partner's webhooks."""
    return Table(
        _("Webhooks"),
        (_("webhook"), _("types"), _("state"), _("last success")),
        [
            (
                format_html('{} <span class="bo-below-name">{}</span>', link(one, one), one.description),
                event_types(one),
                format_html("{} {}", state(one), _failing_since(one)),
                last_success(one),
            )
            for one in endpoints.endpoints_of(partner)
        ],
        empty=_("None yet. Events can be read from the feed, too."),
    )


def _failing_since(endpoint: WebhookEndpoint) -> str:
    if endpoint.failing_since is None:
        return ""
    return format_html('<span class="bo-below-name">{} {}</span>', _("failing since"), moment(endpoint.failing_since))
