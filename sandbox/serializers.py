"""Webhooks and API keys of sandbox partners on the wire."""

from datetime import timedelta
from typing import Any, NamedTuple

from django.core.exceptions import ValidationError
from drf_spectacular.utils import extend_schema_serializer
from rest_framework import serializers
from rest_framework.fields import get_error_detail

from partners.api.rule_fields import ChoiceField, ItemsField, TextField, WholeNumberField
from partners.api.serializers import Errors, InstantField, StrictSerializer
from partners.authentication.keys import MAX_KEYS
from partners.models import ApiKey, EventType
from partners.models.webhooks import MAX_URL_LENGTH, WebhookEndpoint
from partners.webhooks import endpoints

# The look-up of a URL's host name, so that the response comes within 5 s.
LOOK_UP_SECONDS = 2.0
MAX_DESCRIPTION_LENGTH = 200
# Repetitions are allowed; this bounds the errors of a response.
MAX_TYPES = 100
DEFAULT_HOURS = 24
MAX_HOURS = endpoints.MAX_OVERLAP // timedelta(hours=1)

_ID_HELP = "The service's identifier of the webhook, a UUID."
_KEY_PREFIX = "^psi_test_key_[A-Za-z0-9_-]{8}$"
_SECRET_HELP = "Shown this once: it cannot be read back."  # noqa: S105 - a text for people


class WebhookSettingsSerializer(StrictSerializer[Any]):
    """A webhook to be added."""

    url = TextField(
        max_length=MAX_URL_LENGTH,
        help_text="An https URL with a host name that has public addresses only, without user info and fragment, on"
        " port 443 or from 1024 to 65535.",
    )
    types = ItemsField(
        child=ChoiceField(EventType),
        min_length=0,
        max_length=MAX_TYPES,
        default=list,
        help_text="Only events of these types are sent; without any, all.",
    )
    description = TextField(
        min_length=0, max_length=MAX_DESCRIPTION_LENGTH, default="", help_text="What it is for, in your own words."
    )

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

    webhookId = serializers.UUIDField(source="pk", help_text=_ID_HELP)
    url = serializers.CharField(help_text="Where the events are sent.")
    types = serializers.ListField(
        child=serializers.ChoiceField(EventType.values), help_text="Of the events that are sent; without any, all."
    )
    description = serializers.CharField(help_text="What it is for, in your own words.")
    state = serializers.ChoiceField(
        ["active", "disabled"],
        help_text="A disabled one gets no events. Staff enable it; or remove it and add it again.",
    )


class AddedWebhook(NamedTuple):
    """A new webhook, with what is shown of it once."""

    endpoint: WebhookEndpoint
    secret: str


class AddedWebhookSerializer(WebhookSerializer):
    """A webhook that was added, with its secret."""

    secret = serializers.RegexField(
        "^whsec_[A-Za-z0-9+/]{43}=$", help_text=f"Signs what is sent, by Standard Webhooks. {_SECRET_HELP}"
    )

    def to_representation(self, instance: AddedWebhook) -> dict[str, Any]:  # type: ignore[override]
        """The webhook on the wire, with its secret."""
        return {**WebhookSerializer(instance.endpoint).data, "secret": instance.secret}


class WebhookListSerializer(serializers.Serializer[Any]):
    """A partner's webhooks."""

    items = serializers.ListField(
        child=WebhookSerializer(), max_length=endpoints.MAX_ENDPOINTS, help_text="All of them, the oldest first."
    )


class RemovedWebhookSerializer(serializers.Serializer[Any]):
    """A webhook that was removed."""

    webhookId = serializers.UUIDField(help_text=_ID_HELP)


class OverlapSerializer(StrictSerializer[Any]):
    """A rotation."""

    overlapHours = WholeNumberField(
        lowest=0,
        highest=MAX_HOURS,
        default=DEFAULT_HOURS,
        source="overlap_hours",
        help_text=f"How long the old one stays in force beside the new one, by default {DEFAULT_HOURS}; 0: it ends at"
        " once.",
    )


class RotatedSecretSerializer(serializers.Serializer[Any]):
    """The new secret of a webhook."""

    webhookId = serializers.UUIDField(help_text=_ID_HELP)
    secret = serializers.RegexField("^whsec_[A-Za-z0-9+/]{43}=$", help_text=_SECRET_HELP)


@extend_schema_serializer(component_name="WebhookTest")
class WebhookTestSerializer(StrictSerializer[Any]):
    """A test, which has no options."""


class WebhookTestResultSerializer(serializers.Serializer[Any]):
    """How a webhook responded to a test."""

    status = serializers.IntegerField(
        allow_null=True, min_value=100, max_value=999, help_text="The HTTP status that it responded with, if it did."
    )
    milliseconds = serializers.IntegerField(
        allow_null=True, min_value=0, help_text="How long that took, name look-up included; null without a response."
    )
    error = serializers.CharField(
        allow_null=True,
        help_text="Why there was no response, for programs: timeout, dns, connect, tlsExpired, tlsName,"
        " tlsSelfSigned, tlsIssuer, tlsProtocol, tls, protocol, secret, internal. Values may be added. Null with a"
        " response.",
    )


class RotatedKeySerializer(serializers.Serializer[Any]):
    """The API key that takes the place of the one that signed."""

    apiKey = serializers.RegexField("^psi_test_key_[A-Za-z0-9_-]{43}$", help_text=_SECRET_HELP)
    secret = serializers.RegexField("^psi_test_secret_[A-Za-z0-9_-]{43}$", help_text=_SECRET_HELP)
    expiresAt = InstantField(help_text="When the old key ends, the one that signed the request.")


class ApiKeySerializer(serializers.Serializer[ApiKey]):
    """An API key in force, as staff see it."""

    apiKeyPrefix = serializers.RegexField(
        _KEY_PREFIX, source="prefix", help_text="The key's first 21 characters, by which it is told from others."
    )
    label = serializers.CharField(  # type: ignore[assignment]  # the name on the wire; DRF's own is an attribute
        help_text="What staff called it; a rotated key keeps it. May be empty."
    )
    createdAt = InstantField(source="created_at", help_text="When it was issued.")
    lastUsedAt = InstantField(
        source="last_used_at", allow_null=True, help_text="When it last signed a request, within five minutes."
    )
    expiresAt = InstantField(source="expires_at", allow_null=True, help_text="When it ends; null: never.")


class ApiKeyListSerializer(serializers.Serializer[Any]):
    """A partner's API keys in force."""

    items = serializers.ListField(child=ApiKeySerializer(), max_length=MAX_KEYS, help_text="The newest first.")


class RevokedKeySerializer(serializers.Serializer[Any]):
    """An API key that was revoked."""

    apiKeyPrefix = serializers.RegexField(_KEY_PREFIX, help_text="The key's first 21 characters.")
