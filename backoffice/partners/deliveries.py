"""The admin of deliveries to webhooks: a list by keyset, a page with the attempts, and a retry."""

import uuid
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.utils.translation import gettext_lazy as _
from unfold.contrib.filters.admin import RelatedDropdownFilter, TextFilter
from unfold.enums import ActionVariant

from backoffice.actions import Act, RowAction
from backoffice.lists.filters import ChoiceFilter
from backoffice.lists.pages import ReadOnlyAdmin, Table
from backoffice.partners.webhook_columns import (
    attempt_row,
    delivery_state,
    endpoint_link,
    latest_result,
    next_attempt,
    partner_of,
)
from backoffice.partners.webhooks import MAY_RETRY
from core.refusals import RefusedError
from events.models import DeliveryState, EventType, WebhookDelivery
from events.webhooks import deliveries

# A page is reloaded while an attempt is due so soon, or was due so recently.
AWAITED = timedelta(minutes=2)


class WebhookFilter(TextFilter):  # type: ignore[misc]
    """By webhookId."""

    title, parameter_name = _("webhookId"), "webhook"
    is_indexed = True

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        value = (self.value() or "").strip()
        if not value:
            return queryset
        try:
            return queryset.filter(endpoint=uuid.UUID(value))
        except ValueError:
            return queryset.none()


class StateFilter(ChoiceFilter):
    """By state."""

    title, parameter_name = _("state"), "state"
    options = DeliveryState.choices


class TypeFilter(ChoiceFilter):
    """By the event's type, as on the wire."""

    title, parameter_name = _("type"), "type"
    options = tuple((one, one) for one in (*EventType.values, deliveries.TEST_TYPE))


def _may_retry(delivery: WebhookDelivery) -> bool:
    """Whether the event may be sent again; a test is sent once."""
    is_waiting = delivery.next_attempt_at is not None and delivery.next_attempt_at > timezone.now()
    may_be = delivery.state == DeliveryState.FAILED or (delivery.state == DeliveryState.PENDING and is_waiting)
    return delivery.event_id is not None and may_be and delivery.endpoint.is_active


@admin.register(WebhookDelivery)
class WebhookDeliveryAdmin(ReadOnlyAdmin):
    """Deliveries, the newest first."""

    list_display = (
        *("created_at", endpoint_link, partner_of, "type", delivery_state),
        *("attempt_count", latest_result, next_attempt),
    )
    list_filter = (StateFilter, TypeFilter, WebhookFilter, ("endpoint__partner", RelatedDropdownFilter))
    list_select_related = ("endpoint__partner",)
    ordering = ("-id",)
    fields = ("event_uuid", "type", endpoint_link, partner_of, "created_at")  # type: ignore[assignment]
    actions_detail = ("retry",)
    change_form_template = "admin/events/webhookdelivery/change_form.html"
    order_note = _("newest first")
    empty_text = _("Deliveries are kept for 30 days.")

    def tables_of(self, request: HttpRequest, obj: WebhookDelivery) -> Iterator[Table]:
        """The latest attempts, the newest first."""
        yield Table(
            _("Attempts"),
            (_("time"), _("result"), _("duration")),
            [attempt_row(one) for one in reversed(obj.attempts)],
            empty=_("None yet."),
        )

    def render_change_form(self, request: HttpRequest, context: dict[str, Any], *args: Any, **kwargs: Any) -> Any:
        """The page; `is_awaited` while an attempt is about to be made."""
        delivery: WebhookDelivery = kwargs["obj"]
        context["delivery"], context["state"] = delivery, delivery_state(delivery)
        context["next_attempt"] = next_attempt(delivery)
        context["is_awaited"] = (
            delivery.state == DeliveryState.PENDING
            and delivery.next_attempt_at is not None
            and abs(delivery.next_attempt_at - timezone.now()) < AWAITED
        )
        return super().render_change_form(request, context, *args, **kwargs)

    @RowAction(
        title=_("Retry"),
        permission=MAY_RETRY,
        heading=_("Retry the delivery"),
        note=_("The event is sent again now, with the same webhook-id."),
        icon="replay",
        variant=ActionVariant.PRIMARY,
        is_possible=_may_retry,
    )
    def retry(self, act: Act) -> HttpResponse:
        """Have the delivery attempted now."""
        try:
            count = deliveries.retry(endpoint=act.row.endpoint, delivery=act.row)
        except RefusedError:
            count = 0
        if not count:
            messages.warning(act.request, _("The delivery cannot be attempted again."))
        return self.redirect_to(act.row)
