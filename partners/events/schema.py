"""Events, and parameters and examples of the feed, in the OpenAPI document.

Only views import it: drf-spectacular's generator costs each command 0.1 s.
"""

from functools import cache
from typing import Any

from drf_spectacular.extensions import OpenApiSerializerExtension
from drf_spectacular.openapi import AutoSchema
from drf_spectacular.utils import Direction
from rest_framework import serializers

from partners.api.errors import invalid_parameter
from partners.api.pagination import NOT_A_CURSOR
from partners.api.schema import LIMIT, cursor_parameter
from partners.events.pagination import CURSOR_TOO_OLD
from partners.events.serializers import (
    CURSOR,
    DATA_HELP,
    DATA_SERIALIZERS,
    TYPE_HELP,
    EventSerializer,
    OtherEventSerializer,
)
from partners.models import EventType

_CURSOR = "0000000000000203"
_USER = {"externalId": "cust-1001", "userId": "92811e6e-0786-4030-88b7-5b6c5d6e82f4"}
_EVENT = {
    "eventId": "0d6f2f6a-8a53-4c3e-9b0e-3f2d6a1c7b95",
    "type": EventType.STATUS_CHANGED.value,
    "createdAt": "2026-01-15T10:30:00.123456Z",
    "data": {**_USER, "status": "active", "statusReason": "verified", "updatedAt": "2026-01-15T10:30:00.123456Z"},
}
PAGE: dict[str, Any] = {
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
        {
            "eventId": "3f7c1a52-9e0d-4b86-a1c4-7d2e5b9f8c60",
            "type": EventType.USER_ERASED.value,
            "createdAt": "2031-02-03T09:00:00.000000Z",
            "data": _USER,
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
            *map(serializer_of, DATA_SERIALIZERS),
            OtherEventSerializer,
        ]
        return {
            "description": "An event, by its type. It contains no personal data but the externalId.",
            "anyOf": [auto_schema.resolve_serializer(one, direction).ref for one in types],
        }


@cache
def serializer_of(kind: EventType) -> type[EventSerializer]:
    """The serializer of one type of event, which is a component of the document."""
    name = f"{kind.name.title().replace('_', '')}Event"
    data = DATA_SERIALIZERS[kind](help_text=DATA_HELP)
    return event_serializer(name, f"An event of the type {kind.value}.", kind.value, data)


def event_serializer(
    name: str, description: str, kind: str, data: serializers.BaseSerializer[Any]
) -> type[EventSerializer]:
    """A serializer of events of one type. name: of its component."""
    fields = {"type": serializers.ChoiceField([kind], help_text=TYPE_HELP), "data": data}
    return type(f"{name}Serializer", (EventSerializer,), {"__doc__": description} | fields)
