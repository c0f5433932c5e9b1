"""Webhooks in the OpenAPI document: one for each type of event, and the test (contract, section 10).

Only the making of the document imports it, as partners/events/schema.py.
"""

from typing import Any

from drf_spectacular.utils import OpenApiExample, OpenApiResponse, OpenApiWebhook, extend_schema, inline_serializer
from rest_framework import serializers

from partners.events.schema import PAGE, event_serializer, serializer_of
from partners.events.serializers import DATA_HELP, DATA_SERIALIZERS, EventSerializer
from partners.webhooks.deliveries import TEST_TYPE
from partners.webhooks.schedule import MAX_ATTEMPTS

_TEST: dict[str, Any] = {
    "eventId": "3c1b8d52-6f0e-4a97-8f6d-2b9e4c7a1d08",
    "type": TEST_TYPE,
    "createdAt": "2026-01-15T10:30:00.123456Z",
    "data": {"webhookId": "c8a4e6b0-2d1f-4b3a-9c5e-7f8091a2b3c4"},
}
_TESTED: dict[str, Any] = {
    "__doc__": "What the test of a webhook contains.",
    "webhookId": serializers.UUIDField(help_text="The identifier of the webhook that is tested, a UUID."),
}


def _header(name: str, description: str, example: str, **schema: Any) -> dict[str, Any]:
    return {
        "in": "header",
        "name": name,
        "required": True,
        "description": description,
        "schema": {"type": "string", **schema},
        "examples": {name: {"value": example}},
    }


HEADERS = [
    _header("webhook-id", "The eventId, the same at every attempt.", _TEST["eventId"], format="uuid"),
    _header(
        "webhook-timestamp",
        "When this attempt was made, in seconds since 1970.",
        "1768473000",
        pattern="^[0-9]+$",
    ),
    _header(
        "webhook-signature",
        "One signature for each secret in force, separated by spaces: `v1,` and the base64 of the HMAC-SHA256 of id,"
        " timestamp and body, joined by dots.",
        "v1,Rh1NKGcjgy7LFkhUKQVvvb2h0JIHAPZy1OzZ2nUzQFo=",
        pattern="^v1,[A-Za-z0-9+/=]+( v1,[A-Za-z0-9+/=]+)*$",
    ),
]


def _webhook(
    kind: str, serializer: type[EventSerializer], example: Any, *, description: str, otherwise: str
) -> OpenApiWebhook:
    return OpenApiWebhook(
        kind,
        extend_schema(
            operation_id="receive" + "".join(word[:1].upper() + word[1:] for word in kind.split(".")),
            tags=["Webhooks"],
            summary=f"Receive {kind}",
            description=description,
            request=serializer,
            examples=[OpenApiExample("Event", value=example)],
            responses={
                "2XX": OpenApiResponse(description="Received; it is not sent again."),
                "410": OpenApiResponse(description="The webhook is disabled at once."),
                "default": OpenApiResponse(description=otherwise),
            },
        ),
    )


_EXAMPLES = {event["type"]: event for event in reversed(PAGE["items"])}
WEBHOOKS = [
    *(
        _webhook(
            kind.value,
            serializer_of(kind),
            _EXAMPLES[kind.value],
            description="An event of the feed, sent at least once and in no promised order.",
            otherwise=f"It is sent again later, up to {MAX_ATTEMPTS} times in all.",
        )
        for kind in DATA_SERIALIZERS
    ),
    _webhook(
        TEST_TYPE,
        event_serializer(
            "WebhookTestEvent",
            "The test of a webhook, which is in no feed.",
            TEST_TYPE,
            inline_serializer("TestedWebhook", _TESTED, help_text=DATA_HELP),
        ),
        _TEST,
        description="The test of a webhook, sent once for each time that one is asked for. It is in no feed.",
        otherwise="It is not sent again.",
    ),
]
