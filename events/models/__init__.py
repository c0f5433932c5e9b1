"""Events of partners' feeds, webhook endpoints and deliveries."""

from events.models.feed import Event, EventFeed, EventType, OutboxEntry
from events.models.webhooks import (
    RECEIVES_EVENTS,
    DeliveryState,
    DisabledReason,
    WebhookDelivery,
    WebhookEndpoint,
    WebhookSecret,
)

__all__ = (
    "RECEIVES_EVENTS",
    "DeliveryState",
    "DisabledReason",
    "Event",
    "EventFeed",
    "EventType",
    "OutboxEntry",
    "WebhookDelivery",
    "WebhookEndpoint",
    "WebhookSecret",
)
