"""Events and pages of the feed in the OpenAPI document and on the wire."""

from typing import Any

from rest_framework import serializers

from partners.api.serializers import InstantField, RowSerializer
from partners.events.feed import EventRow


class EventSerializer(RowSerializer[EventRow]):
    """An event. `data` is JSON that a trigger wrote."""

    eventId = serializers.UUIDField(source="event_id")
    type = serializers.CharField()
    createdAt = InstantField(source="created_at")
    data: Any = serializers.DictField()
