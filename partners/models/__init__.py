"""Partners with their API keys, records of requests, events, and webhooks."""

from partners.models.events import Event, EventFeed, EventType, OutboxEntry
from partners.models.partner import KEY_IS_ACTIVE, KEY_PREFIXES, ApiKey, Mode, Partner, in_force
from partners.models.requests import IdempotencyRecord, SandboxRequest, UsedSignature
from partners.models.webhooks import (
    RECEIVES_EVENTS,
    DeliveryState,
    DisabledReason,
    WebhookDelivery,
    WebhookEndpoint,
    WebhookSecret,
)

__all__ = (
    "KEY_IS_ACTIVE",
    "KEY_PREFIXES",
    "RECEIVES_EVENTS",
    "ApiKey",
    "DeliveryState",
    "DisabledReason",
    "Event",
    "EventFeed",
    "EventType",
    "IdempotencyRecord",
    "Mode",
    "OutboxEntry",
    "Partner",
    "SandboxRequest",
    "UsedSignature",
    "WebhookDelivery",
    "WebhookEndpoint",
    "WebhookSecret",
    "in_force",
)
