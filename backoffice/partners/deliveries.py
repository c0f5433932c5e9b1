"""Deliveries to webhooks: their columns and the admin, with the attempts of each and a retry."""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Any

from django.contrib import admin
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.utils.translation import gettext_lazy as _
from unfold.contrib.filters.admin import ChoicesDropdownFilter, RelatedDropdownFilter
from unfold.enums import ActionVariant

from backoffice.actions import Act, RowAction
from backoffice.lists.cells import badge, moment
from backoffice.lists.filters import ChoiceFilter, ValueFilter
from backoffice.lists.pages import ReadOnlyAdmin, Table
from core.refusals import RefusedError
from events.models import DeliveryState, EventType, WebhookDelivery
from events.webhooks import deliveries

MAY_RETRY = "events.change_webhookdelivery"
# A page is reloaded while an attempt is due so soon, or was due so recently.
AWAITED = timedelta(minutes=2)
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
def delivery_state(delivery: WebhookDelivery) -> str:
    """The state as a badge."""
    return badge(delivery.get_state_display(), _BADGES[DeliveryState(delivery.state)])


@admin.display(description=_("latest result"))
def latest_result(delivery: WebhookDelivery) -> Any:
    """The status or error of the latest attempt."""
    return result(delivery.attempts[-1]) if delivery.attempts else "–"


def result(attempt: Mapping[str, Any]) -> Any:
    """The HTTP status or the error of an attempt."""
    if attempt.get("status"):
        return f"HTTP {attempt['status']}"
    code = attempt.get("error", "")
    return _ERRORS.get(code, code)


class WebhookFilter(ValueFilter):
    """By webhookId."""

    title, parameter_name = _("webhookId"), "endpoint"
    is_indexed = True


class TypeFilter(ChoiceFilter):
    """By the event's type, as on the wire."""

    title, parameter_name = _("type"), "type"
    options = tuple((one, one) for one in (*EventType.values, deliveries.TEST_TYPE))


def _time(text: str) -> str:
    """A time of an attempt; the text itself where it is none: nothing else keeps its form."""
    with suppress(ValueError, OverflowError):
        return moment(datetime.fromisoformat(text))
    return text


@admin.register(WebhookDelivery)
class WebhookDeliveryAdmin(ReadOnlyAdmin):
    """Deliveries, the newest first."""

    list_display = (
        *("created_at", "endpoint", "endpoint__partner", "type", delivery_state),
        *("attempt_count", latest_result, "next_attempt_at"),
    )
    list_filter = (
        *(("state", ChoicesDropdownFilter), TypeFilter),
        *(WebhookFilter, ("endpoint__partner", RelatedDropdownFilter)),
    )
    list_select_related = ("endpoint__partner",)
    ordering = ("-id",)
    fields = (  # type: ignore[assignment]
        *("event_uuid", "type", "endpoint", "created_at"),
        *(delivery_state, "attempt_count", "next_attempt_at", "ended_at"),
    )
    actions_detail = ("retry",)
    change_form_template = "admin/events/webhookdelivery/change_form.html"
    order_note = _("newest first")
    empty_text = _("Deliveries are kept for 30 days.")

    def tables_of(self, request: HttpRequest, obj: WebhookDelivery) -> Iterator[Table]:
        """The latest attempts, the newest first."""
        yield Table(
            _("Attempts"),
            (_("time"), _("result"), _("duration")),
            [(_time(one["at"]), result(one), f"{one['milliseconds']} ms") for one in reversed(obj.attempts)],
            empty=_("None yet."),
        )

    def render_change_form(self, request: HttpRequest, context: dict[str, Any], *args: Any, **kwargs: Any) -> Any:
        """The page; `is_awaited` while an attempt is about to be made."""
        delivery: WebhookDelivery = kwargs["obj"]
        due = delivery.next_attempt_at if delivery.state == DeliveryState.PENDING else None
        context["is_awaited"] = due is not None and abs(due - timezone.now()) < AWAITED
        return super().render_change_form(request, context, *args, **kwargs)

    @RowAction(
        title=_("Retry"),
        permission=MAY_RETRY,
        heading=_("Retry the delivery"),
        note=_("The event is sent again now, with the same webhook-id."),
        icon="replay",
        variant=ActionVariant.PRIMARY,
        is_possible=lambda delivery: (
            delivery.event_id is not None and delivery.state in {DeliveryState.FAILED, DeliveryState.PENDING}
        ),
    )
    def retry(self, act: Act) -> HttpResponse:
        if not deliveries.retry(endpoint=act.row.endpoint, delivery=act.row):
            raise RefusedError(_("The delivery cannot be attempted again."))
        return self.redirect_to(act.row)
