"""Events and pages of the feed in the OpenAPI document and on the wire."""

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from partners.api.pagination import MAX_LIMIT
from partners.api.serializers import InstantField, RowSerializer
from partners.db.statements import rfc_3339_from_text
from partners.events import wire
from partners.events.feed import EventRow
from partners.models import EventType

# The data of each type. The apps that write the events register theirs (users/apps.py, transactions/apps.py).
DATA_SERIALIZERS: dict[EventType, type[serializers.BaseSerializer[Any]]] = {}

# Nothing more is promised of a cursor than that it needs no encoding in a URL.
CURSOR = "^[A-Za-z0-9_-]{1,64}$"


@extend_schema_field({"type": "string", "not": {"enum": EventType.values}})
class OtherTypeField(serializers.CharField):
    """A type that does not exist yet."""


class EventSerializer(RowSerializer[EventRow]):
    """An event. Its schema is EventSchema (schema.py); those of the types derive from this."""

    eventId = serializers.UUIDField(help_text="The same in the feed and in every webhook of the event.")
    createdAt = InstantField(help_text="When the change was made that the event reports.")
    type = serializers.CharField()
    data: Any = serializers.DictField()

    def to_representation(self, instance: EventRow) -> dict[str, Any]:
        return wire.event_object(
            event_id=instance.event_id,
            kind=instance.type,
            created_at=rfc_3339_from_text(instance.created_at),
            data=instance.data,
        )


class OtherEventSerializer(EventSerializer):
    """An event of a type that is newer than this document: ignore it."""

    type = OtherTypeField()


class EventPageSerializer(serializers.Serializer[Any]):
    """A page of the feed."""

    # FeedPagination writes it.
    nextCursor = serializers.RegexField(
        CURSOR, help_text="Where to continue, now or later: to be kept, and sent back unchanged. Never null."
    )
    hasMore = serializers.BooleanField(help_text="Whether more events follow now.")
    items = serializers.ListField(child=EventSerializer(), max_length=MAX_LIMIT)
