"""Events, parameters and examples of the feed, and the webhook, in the OpenAPI document.

Only views import it: drf-spectacular's generator costs each command 0.1 s.
"""

from typing import Any

from drf_spectacular.extensions import OpenApiSerializerExtension
from drf_spectacular.openapi import AutoSchema
from drf_spectacular.utils import Direction, OpenApiWebhook
from rest_framework import serializers

from partners.api.errors import invalid_parameter
from partners.api.pagination import NOT_A_CURSOR
from partners.api.schema import LIMIT, cursor_parameter
from partners.events.pagination import CURSOR_TOO_OLD
from partners.events.serializers import CURSOR, DATA_SERIALIZERS, EventSerializer, OtherEventSerializer
from partners.models import EventType

_CURSOR = "0000000000000203"
_USER = {"externalId": "cust-1001", "userId": "92811e6e-0786-4030-88b7-5b6c5d6e82f4"}
_EVENT = {
    "eventId": "0d6f2f6a-8a53-4c3e-9b0e-3f2d6a1c7b95",
    "type": EventType.STATUS_CHANGED.value,
    "createdAt": "2026-01-15T10:30:00.123456Z",
    "data": {**_USER, "status": "active", "statusReason": "verified", "updatedAt": "2026-01-15T10:30:00.123456Z"},
}
PAGE = {
    "nextCursor": _CURSOR,
    "hasMore": False,
    "items": [
        _EVENT,
        {
            "eventId": "c9d0a4c1-7a0e-4b39-8d6a-21c6b0f4e5a7",
            "type": EventType.REQUIREMENTS_CHANGED.value,
            "createdAt": "2026-01-15T10:30:30.000000Z",
            "data": {
                **_USER,
                "openRequirements": 1,
                "openedRequirementId": "8a6e0f6c-5f0a-4d1c-9c55-2f6f0a7d9b31",
            },
        },
        {
            "eventId": "6a4d1f0c-55c1-4c5e-8f43-9f1f2e7d3a10",
            "type": EventType.TRANSACTIONS_RECORDED.value,
            "createdAt": "2026-01-15T10:31:00.000000Z",
            "data": {
                **_USER,
                "count": 2,
                "oldestCreatedAt": "2026-01-14T22:05:00.000000Z",
                "newestCreatedAt": "2026-01-15T10:30:00.123456Z",
            },
        },
        {
            "eventId": "b1e6f9f4-7a3b-4f43-8e25-55d0a5a0c9d2",
            "type": EventType.DOCUMENT_PUBLISHED.value,
            "createdAt": "2026-01-31T12:00:01.000000Z",
            "data": {
                **_USER,
                "documentId": "5d8f4f0e-3d3c-4a53-9a76-0a7c2cf1b1d4",
                "type": "accountStatement",
                "createdAt": "2026-01-31T12:00:00.000000Z",
            },
        },
        {
            "eventId": "f2a3c5de-2f0b-4c3e-8a57-1f6f0de3a7b8",
            "type": EventType.DOCUMENT_WITHDRAWN.value,
            "createdAt": "2026-01-31T15:20:00.000000Z",
            "data": {**_USER, "documentId": "5d8f4f0e-3d3c-4a53-9a76-0a7c2cf1b1d4"},
        },
    ],
}
PARAMETERS = [
    cursor_parameter(
        CURSOR, _CURSOR, "The nextCursor of the page read last, unchanged; without it, from the oldest event kept."
    ),
    LIMIT,
]
ERRORS = (invalid_parameter("cursor", CURSOR_TOO_OLD), invalid_parameter("cursor", NOT_A_CURSOR))


class EventSchema(OpenApiSerializerExtension):  # type: ignore[no-untyped-call]
    """Maps EventSerializer to one of the types, or to one that is added later."""

    target_class = EventSerializer

    def get_name(self, auto_schema: AutoSchema, direction: Direction) -> str:
        return "Event"

    def map_serializer(self, auto_schema: AutoSchema, direction: Direction) -> dict[str, Any]:
        """Without oneOf: linters do not see that OtherEvent excludes the others."""
        types: list[type[EventSerializer]] = [
            *(_component(kind, data) for kind, data in DATA_SERIALIZERS.items()),
            OtherEventSerializer,
        ]
        return {
            "description": "An event, by its type. It contains no personal data but the externalId.",
            "anyOf": [auto_schema.resolve_serializer(one, direction).ref for one in types],
        }


def _component(kind: EventType, data: type[serializers.BaseSerializer[Any]]) -> type[EventSerializer]:
    name = f"{kind.name.title().replace('_', '')}EventSerializer"
    fields = {"type": serializers.ChoiceField([kind.value]), "data": data()}
    return type(name, (EventSerializer,), {"__doc__": f"An event of the type {kind.value}."} | fields)


def _header(name: str, description: str, example: str, **schema: Any) -> dict[str, Any]:
    return {
        "in": "header",
        "name": name,
        "required": True,
        "description": description,
        "schema": {"type": "string", **schema},
        "examples": {name: {"value": example}},
    }


# drf-spectacular's own would lack the parameters.
WEBHOOK = OpenApiWebhook(
    name="event",
    decorator={
        "post": {
            "operationId": "receiveEvent",
            "tags": ["Events"],
            "summary": "Receive an event",
            "description": "An event of the feed, sent at least once and in no promised order. The headers are those of"
            " Standard Webhooks 1.0. Verify the signature before anything else. A test, which sandbox partners"
            " send themselves and support sends for others, has the type `webhook.test`.",
            "security": [],
            "parameters": [
                _header("webhook-id", "The eventId, the same at every attempt.", str(_EVENT["eventId"]), format="uuid"),
                _header(
                    "webhook-timestamp",
                    "When this attempt was made, in seconds since 1970.",
                    "1768473000",
                    pattern="^[0-9]+$",
                ),
                _header(
                    "webhook-signature",
                    "One signature for each secret in force, separated by spaces: `v1,` and the base64 of the"
                    " HMAC-SHA256 of id, timestamp and body, joined by dots.",
                    "v1,Rh1NKGcjgy7LFkhUKQVvvb2h0JIHAPZy1OzZ2nUzQFo=",
                    pattern="^v1,[A-Za-z0-9+/=]+( v1,[A-Za-z0-9+/=]+)*$",
                ),
            ],
            "requestBody": {
                "required": True,
                "content": {
                    "application/json": {
                        "schema": {"$ref": "#/components/schemas/Event"},
                        "examples": {"Event": {"value": _EVENT}},
                    }
                },
            },
            "responses": {
                "2XX": {"description": "Received; it is not sent again."},
                "410": {"description": "The webhook is disabled at once."},
                "default": {"description": "It is sent again later, up to eight times in all."},
            },
        }
    },
)
