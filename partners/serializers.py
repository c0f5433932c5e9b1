"""The answer to a ping on the wire."""

from typing import Any

from rest_framework import serializers

from partners.api.serializers import InstantField


class PingSerializer(serializers.Serializer[Any]):
    """Whose key signed the request, and what time it is."""

    partner = serializers.RegexField(
        "^[a-z0-9]+(-[a-z0-9]+)*$", min_length=1, max_length=50, help_text="The partner that the API key belongs to."
    )
    serverTime = InstantField(help_text="The service's clock: compare yours with it.")
