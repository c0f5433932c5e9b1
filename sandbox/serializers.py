"""Webhooks and API keys of sandbox partners on the wire."""

from datetime import timedelta
from typing import Any

from rest_framework import serializers
from rest_framework.fields import empty

from events.models import EventType
from events.models.webhooks import MAX_URL_LENGTH, WebhookEndpoint
from events.webhooks import addresses, endpoints
from partners.api.serializers import (
    ChoiceField,
    InstantField,
    ItemsField,
    StrictSerializer,
    TextField,
    WholeNumberField,
)
from partners.models import ApiKey

# The look-up of a URL's host name, so that the response comes within 5 s.
LOOK_UP_SECONDS = 2.0
MAX_DESCRIPTION_LENGTH = 200
# Repetitions are allowed; this bounds the errors of a response.
MAX_TYPES = 100
DEFAULT_HOURS = 24
MAX_HOURS = endpoints.MAX_OVERLAP // timedelta(hours=1)


class UrlField(TextField):
    """The URL of a webhook, whose host name is resolved."""

    def run_validation(self, data: Any = empty) -> str:
        return addresses.checked(super().run_validation(data), LOOK_UP_SECONDS)


class WebhookSettingsSerializer(StrictSerializer[Any]):
    """A webhook to be added."""

    url = UrlField(max_length=MAX_URL_LENGTH)
    types = ItemsField(child=ChoiceField(EventType), min_length=0, max_length=MAX_TYPES, default=list)
    description = TextField(min_length=0, max_length=MAX_DESCRIPTION_LENGTH, default="")


class WebhookSerializer(serializers.Serializer[WebhookEndpoint]):
    """A webhook."""

    webhookId = serializers.UUIDField(source="pk")
    url = serializers.CharField()
    types = serializers.ListField()
    description = serializers.CharField()
    state = serializers.CharField()


class NoFieldsSerializer(StrictSerializer[Any]):
    """An object without fields."""


class OverlapSerializer(StrictSerializer[Any]):
    """A rotation."""

    overlapHours = WholeNumberField(lowest=0, highest=MAX_HOURS, default=DEFAULT_HOURS, source="overlap_hours")


class RotatedKeySerializer(serializers.Serializer[Any]):
    """The API key that takes the place of the one that signed."""

    apiKey = serializers.CharField(source="api_key")
    secret = serializers.CharField()
    expiresAt = InstantField(source="expires_at")


class ApiKeySerializer(serializers.Serializer[ApiKey]):
    """An API key in force, as staff see it."""

    apiKeyPrefix = serializers.CharField(source="prefix")
    label = serializers.CharField()  # type: ignore[assignment]  # the name on the wire; DRF's own is an attribute
    createdAt = InstantField(source="created_at")
    lastUsedAt = InstantField(source="last_used_at")
    expiresAt = InstantField(source="expires_at")
