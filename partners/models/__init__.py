"""Partners with their API keys, records of requests, events, and webhooks."""

from partners.models.events import Event, EventFeed, EventType, OutboxEntry
from partners.models.partner import ApiKey, Partner, in_force
from partners.models.requests import ApiUsage, IdempotencyRecord, UsedSignature
from partners.models.webhooks import (
    DeliveryState,
    DisabledReason,
    WebhookAttemptCount,
    WebhookDelivery,
    WebhookEndpoint,
    WebhookSecret,
)

__all__ = (
    "ApiKey",
    "ApiUsage",
    "DeliveryState",
    "DisabledReason",
    "Event",
    "EventFeed",
    "EventType",
    "IdempotencyRecord",
    "OutboxEntry",
    "Partner",
    "UsedSignature",
    "WebhookAttemptCount",
    "WebhookDelivery",
    "WebhookEndpoint",
    "WebhookSecret",
    "in_force",
)
