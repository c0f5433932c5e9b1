"""Events on the wire, the same in the feed and in webhooks (contract, section 10)."""

from collections.abc import Mapping


def event_object(*, event_id: object, kind: str, created_at: str, data: Mapping[str, object]) -> dict[str, object]:
    """The JSON object of an event. event_id: a UUID or its text. created_at: RFC 3339, as partners.api.json has it."""
    return {"eventId": str(event_id), "type": kind, "createdAt": created_at, "data": data}
