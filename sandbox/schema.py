"""Parameters, errors and examples of partners' own webhooks and keys in the OpenAPI document."""

from drf_spectacular.utils import OpenApiExample, OpenApiParameter

from partners.api.errors import BadRequestError, NotFoundError, UnauthorizedError, invalid_parameter
from partners.api.idempotency import ALREADY_RECEIVED, HEADER, NOT_A_UUID, NOT_STORED
from partners.api.schema import IDEMPOTENCY_KEY

ID = "c2d1f5a4-6b7e-4a0d-9f43-1e5b8c7d2a90"
WEBHOOK = {
    "webhookId": ID,
    "url": "https://hooks.example.com/events",
    "types": ["user.statusChanged"],
    "description": "Staging",
    "state": "active",
}
# This is an example: no webhook has this secret.
SECRET = f"whsec_{'QUFB' * 10}QUE="
NEW_WEBHOOK = OpenApiExample(
    "A webhook", value={name: WEBHOOK[name] for name in ("url", "types", "description")}, request_only=True
)
ROTATION = OpenApiExample("With an overlap", value={"overlapHours": 1}, request_only=True)
TEST = OpenApiExample("No options", value={}, request_only=True)
ROTATED_KEY = {
    "apiKey": f"psi_test_key_{'A' * 43}",
    "secret": f"psi_test_secret_{'A' * 43}",
    "expiresAt": "2026-01-16T10:30:00.000000Z",
}

PREFIX = f"psi_test_key_{'B' * 8}"
KEY = {
    "apiKeyPrefix": PREFIX,
    "label": "staging",
    "createdAt": "2026-01-15T10:30:00.000000Z",
    "lastUsedAt": "2026-01-16T08:00:00.000000Z",
    "expiresAt": "2027-01-15T10:30:00.000000Z",
}
KEY_PREFIX = OpenApiParameter(
    "api_key_prefix",
    type=str,
    location=OpenApiParameter.PATH,
    description="The apiKeyPrefix: the key's first 21 characters.",
    examples=[OpenApiExample("apiKeyPrefix", value=PREFIX)],
)

PATH_NOT_FOUND = NotFoundError("Path not found.")
REPLAYED_SIGNATURE = UnauthorizedError(ALREADY_RECEIVED)
KEY_REFUSED = invalid_parameter(HEADER, NOT_STORED, "notAllowed")
# The errors of an operation whose response is not stored.
ONCE = (REPLAYED_SIGNATURE, KEY_REFUSED)
WEBHOOK_ID = OpenApiParameter(
    "webhook_id",
    # Like an Idempotency-Key it has no format, of which generated clients make a type that some fail to send.
    type=IDEMPOTENCY_KEY,
    location=OpenApiParameter.PATH,
    description="The webhookId.",
    examples=[OpenApiExample("webhookId", value=ID)],
)


def bad_webhook_id() -> BadRequestError:
    """The error for an id in the path that is no UUID."""
    return invalid_parameter("webhookId", NOT_A_UUID)


def webhook_not_found() -> NotFoundError:
    """The error for a webhook that the partner does not have."""
    return NotFoundError("Webhook not found.")


def key_not_found() -> NotFoundError:
    """The error for a key that the partner does not have, or that is no longer in force."""
    return NotFoundError("API key not found.")
