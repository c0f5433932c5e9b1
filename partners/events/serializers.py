"""Events and pages of the feed in the OpenAPI document and on the wire."""

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from partners.api.pagination import MAX_LIMIT
from partners.api.serializers import InstantField, RowSerializer
from partners.events.feed import EventRow
from partners.models import EventType

# The data of each type. The apps that write the events register theirs (users/apps.py, transactions/apps.py).
DATA_SERIALIZERS: dict[EventType, type[serializers.BaseSerializer[Any]]] = {}

TYPE_HELP = "What happened."
DATA_HELP = "What happened in detail; the fields depend on the type."

# Nothing more is promised of a cursor than that it needs no encoding in a URL.
CURSOR = "^[A-Za-z0-9_-]{1,64}$"


@extend_schema_field({"type": "string", "not": {"enum": EventType.values}, "examples": ["user.renamed"]})
class OtherTypeField(serializers.CharField):
    """A type that does not exist yet."""


@extend_schema_field({"type": "object", "additionalProperties": {}, "examples": [{"externalId": "cust-1001"}]})
class OtherDataField(serializers.DictField):
    """The data of such an event."""


class EventSerializer(RowSerializer[EventRow]):
    """An event. Its schema is EventSchema (schema.py); those of the types derive from this."""

    eventId = serializers.UUIDField(
        source="event_id", help_text="The same in the feed and in every webhook of the event."
    )
    type = serializers.CharField(help_text=TYPE_HELP)
    createdAt = InstantField(source="created_at", help_text="When the change was made that the event reports.")
    data: Any = serializers.DictField(help_text=DATA_HELP)


class OtherEventSerializer(EventSerializer):
    """An event of a type that is newer than this document: ignore it."""

    type = OtherTypeField(help_text=TYPE_HELP)
    data = OtherDataField(help_text=DATA_HELP)


class EventPageSerializer(serializers.Serializer[Any]):
    """A page of the feed."""

    # FeedPagination writes it.
    nextCursor = serializers.RegexField(
        CURSOR, help_text="Where to continue, now or later: to be kept, and sent back unchanged. Never null."
    )
    hasMore = serializers.BooleanField(help_text="Whether more events follow now.")
    items = serializers.ListField(
        child=EventSerializer(), max_length=MAX_LIMIT, help_text="The events of this page, oldest first."
    )
