"""Webhooks and API keys of sandbox partners on the wire."""

from datetime import timedelta
from typing import Any, NamedTuple

from django.core.exceptions import ValidationError
from rest_framework import serializers
from rest_framework.fields import get_error_detail

from events.models import EventType
from events.models.webhooks import MAX_URL_LENGTH, WebhookEndpoint
from events.webhooks import endpoints
from partners.api.rule_fields import ChoiceField, ItemsField, TextField, WholeNumberField
from partners.api.serializers import Errors, InstantField, StrictSerializer
from partners.models import ApiKey

# The look-up of a URL's host name, so that the response comes within 5 s.
LOOK_UP_SECONDS = 2.0
MAX_DESCRIPTION_LENGTH = 200
# Repetitions are allowed; this bounds the errors of a response.
MAX_TYPES = 100
DEFAULT_HOURS = 24
MAX_HOURS = endpoints.MAX_OVERLAP // timedelta(hours=1)


class WebhookSettingsSerializer(StrictSerializer[Any]):
    """A webhook to be added."""

    url = TextField(max_length=MAX_URL_LENGTH)
    types = ItemsField(child=ChoiceField(EventType), min_length=0, max_length=MAX_TYPES, default=list)
    description = TextField(min_length=0, max_length=MAX_DESCRIPTION_LENGTH, default="")

    def validate_together(self, values: dict[str, Any], errors: Errors) -> None:
        """Check the URL and resolve its host name, also where other fields are not valid."""
        if "url" not in values:
            return
        try:
            values["url"] = endpoints.checked_url(values["url"], seconds=LOOK_UP_SECONDS)
        except ValidationError as error:
            errors["url"] = get_error_detail(ValidationError(error.error_dict["url"]))


class WebhookSerializer(serializers.Serializer[WebhookEndpoint]):
    """A webhook."""

    webhookId = serializers.UUIDField(source="pk")
    url = serializers.CharField()
    types = serializers.ListField()
    description = serializers.CharField()
    state = serializers.CharField()


class AddedWebhook(NamedTuple):
    """A new webhook, with what is shown of it once."""

    endpoint: WebhookEndpoint
    secret: str


class AddedWebhookSerializer(WebhookSerializer):
    """A webhook that was added, with its secret."""

    secret = serializers.CharField()

    def to_representation(self, instance: AddedWebhook) -> dict[str, Any]:  # type: ignore[override]
        """The webhook on the wire, with its secret."""
        return {**WebhookSerializer(instance.endpoint).data, "secret": instance.secret}


class RemovedWebhookSerializer(serializers.Serializer[Any]):
    """A webhook that was removed."""

    webhookId = serializers.UUIDField()


class OverlapSerializer(StrictSerializer[Any]):
    """A rotation."""

    overlapHours = WholeNumberField(lowest=0, highest=MAX_HOURS, default=DEFAULT_HOURS, source="overlap_hours")


class RotatedSecretSerializer(serializers.Serializer[Any]):
    """The new secret of a webhook."""

    webhookId = serializers.UUIDField()
    secret = serializers.CharField()


class WebhookTestSerializer(StrictSerializer[Any]):
    """A test, which has no options."""


class RotatedKeySerializer(serializers.Serializer[Any]):
    """The API key that takes the place of the one that signed."""

    apiKey = serializers.CharField()
    secret = serializers.CharField()
    expiresAt = InstantField()


class ApiKeySerializer(serializers.Serializer[ApiKey]):
    """An API key in force, as staff see it."""

    apiKeyPrefix = serializers.CharField(source="prefix")
    label = serializers.CharField()  # type: ignore[assignment]  # the name on the wire; DRF's own is an attribute
    createdAt = InstantField(source="created_at")
    lastUsedAt = InstantField(source="last_used_at")
    expiresAt = InstantField(source="expires_at")


class RevokedKeySerializer(serializers.Serializer[Any]):
    """An API key that was revoked."""

    apiKeyPrefix = serializers.CharField()
