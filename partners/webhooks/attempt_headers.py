"""The headers of a webhook's attempt, as Standard Webhooks 1.0 has them (contract, section 10)."""

from collections.abc import Iterable
from datetime import UTC, datetime
from uuid import UUID

from standardwebhooks.webhooks import Webhook


def attempt_headers(*, event_id: UUID, at: datetime, body: str, secrets: Iterable[str]) -> dict[str, str]:
    """Return the headers that verify a body. at: the time of the attempt. secrets: each signs, newest first."""
    signatures = [Webhook(secret).sign(str(event_id), at.astimezone(UTC), body) for secret in secrets]
    return {
        "webhook-id": str(event_id),
        "webhook-timestamp": str(int(at.timestamp())),
        "webhook-signature": " ".join(signatures),
    }
