"""Leases of due deliveries: a process that holds one makes the attempt and records it (contract, section 10).

The lease of a killed process ends by itself, and another makes the attempt: a receiver gets each event at least once.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, NamedTuple
from uuid import UUID

import orjson
from django.db import transaction
from django.db.models.functions import Now

from core.database import statements
from core.database.query import Query
from core.formats.rfc_3339 import format_timestamp
from events.models import RECEIVES_EVENTS, DeliveryState, WebhookDelivery, WebhookEndpoint
from partners.models import Partner

# Attempts for one endpoint at once, by all processes together.
MAX_AT_ONCE = 2
# An attempt takes at most 15 s, then its result is recorded.
LEASE = timedelta(seconds=30)
# Tests that are looked at for each endpoint.
MAX_TESTS = 50

# The commit is not flushed: after a crash of the database the delivery is in its former state, and is leased or
# recorded again.
WITHOUT_FLUSH = "set_config('synchronous_commit', 'off', true)"

# The order is random, so that each gets its turn where not all get one. Tests are sent to disabled endpoints and
# partners too.
# The planner may turn EXISTS into a read of all due deliveries.
_LOCK = f"""
    SELECT array_agg(id), {WITHOUT_FLUSH} FROM (
        SELECT id FROM events_webhookendpoint endpoint
         WHERE removed_at IS NULL AND (
                   {RECEIVES_EVENTS} AND (
                       SELECT true FROM events_webhookdelivery delivery
                        WHERE delivery.endpoint_id = endpoint.id AND state = 'pending'
                              AND next_attempt_at <= statement_timestamp() LIMIT 1)
                   OR (SELECT true FROM events_webhookdelivery delivery
                        WHERE delivery.endpoint_id = endpoint.id AND state = 'pending' AND event_id IS NULL LIMIT 1))
         ORDER BY random() LIMIT %s
           FOR NO KEY UPDATE SKIP LOCKED) AS locked
"""
# A user's event waits for the first attempt of the earlier ones. Due deliveries are read in the order of their index
# until enough are free; those of one user that wait are passed over: at most MAX_PENDING.
_CHOOSE = f"""
    SELECT array_agg(chosen.id)
      FROM (SELECT id,
                   {RECEIVES_EVENTS} AS is_active,
                   %s - (SELECT count(*) FROM events_webhookdelivery leased
                          WHERE leased.endpoint_id = endpoint.id
                                AND leased.leased_until > statement_timestamp()) AS free
              FROM events_webhookendpoint endpoint WHERE id = ANY(%s::uuid[])) AS endpoint
     CROSS JOIN LATERAL (
           SELECT due.id
             FROM ((SELECT id, position, NULL::timestamptz AS next_attempt_at
                      FROM events_webhookdelivery
                     WHERE endpoint_id = endpoint.id AND state = 'pending' AND event_id IS NULL
                           AND (leased_until IS NULL OR leased_until <= statement_timestamp())
                     LIMIT %s)
                    UNION ALL
                   (SELECT id, position, next_attempt_at
                      FROM events_webhookdelivery due
                     WHERE endpoint_id = endpoint.id AND state = 'pending' AND next_attempt_at <= statement_timestamp()
                           AND event_id IS NOT NULL AND endpoint.is_active
                           AND (leased_until IS NULL OR leased_until <= statement_timestamp())
                           AND (user_id IS NULL OR attempt_count > 0 OR (
                               SELECT true FROM events_webhookdelivery earlier
                                WHERE earlier.endpoint_id = due.endpoint_id AND earlier.state = 'pending'
                                      AND earlier.attempt_count = 0 AND earlier.user_id = due.user_id
                                      AND earlier.position < due.position LIMIT 1) IS NULL)
                     ORDER BY next_attempt_at, position LIMIT greatest(0, endpoint.free))) AS due
            ORDER BY due.next_attempt_at NULLS FIRST, due.position LIMIT greatest(0, endpoint.free)) AS chosen
"""
_TAKE = """
    UPDATE events_webhookdelivery delivery SET leased_until = statement_timestamp() + %s::interval
      FROM events_webhookdelivery same
      JOIN events_webhookendpoint endpoint ON endpoint.id = same.endpoint_id
      LEFT JOIN events_event event ON event.id = same.event_id
     WHERE same.id = ANY(%s::bigint[]) AND delivery.id = same.id
 RETURNING delivery.id, delivery.endpoint_id, endpoint.url, delivery.event_uuid, delivery.type,
           coalesce(event.created_at, delivery.created_at), event.data, delivery.attempts, delivery.attempt_count,
           delivery.leased_until
"""


class Lease(NamedTuple):
    """A delivery that this process may attempt until the lease ends.

    data: the event's; None of a test. attempts: those made before, as stored; attempt_count: all of them.
    """

    delivery_id: int
    endpoint_id: UUID
    url: str
    event_id: UUID
    type: str
    created_at: datetime
    data: dict[str, Any] | None
    attempts: list[dict[str, Any]]
    attempt_count: int
    leased_until: datetime

    @property
    def is_test(self) -> bool:
        """Whether it is a `webhook.test`."""
        return self.data is None

    @property
    def body(self) -> str:
        """The event as JSON, as in the feed, and the same at each attempt."""
        event = {
            "eventId": str(self.event_id),
            "type": self.type,
            "createdAt": format_timestamp(self.created_at),
            "data": self.data if self.data is not None else {"webhookId": str(self.endpoint_id)},
        }
        return orjson.dumps(event).decode()


def lease(*, limit: int) -> list[Lease]:
    """Lease due deliveries of active endpoints, and tests, for LEASE.

    limit: of endpoints; each has at most MAX_AT_ONCE leased deliveries.
    """
    with transaction.atomic():
        endpoints, _ = statements.fetch_one(_LOCK, (limit,)) or (None, None)
        if not endpoints:
            return []
        # A statement of its own: only its snapshot shows what others leased before they released the locks.
        (chosen,) = statements.fetch_one(_CHOOSE, (MAX_AT_ONCE, endpoints, MAX_TESTS)) or (None,)
        return _take(chosen) if chosen else []


def has_room(endpoint: WebhookEndpoint) -> bool:
    """Whether one more delivery may be leased; the endpoint is locked until the transaction ends."""
    WebhookEndpoint.objects.select_for_update(no_key=True).get(pk=endpoint.pk)
    return endpoint.deliveries.filter(leased_until__gt=Now()).count() < MAX_AT_ONCE


def is_tested(partner_id: int) -> bool:
    """Whether a test of one of the partner's endpoints is under way; the partner is locked until the transaction ends.

    One of two that begin at once sees the other.
    """
    Partner.objects.select_for_update(no_key=True).get(pk=partner_id)
    tests = WebhookDelivery.objects.filter(endpoint__partner=partner_id, event__isnull=True)
    return tests.filter(state=DeliveryState.PENDING, leased_until__gt=Now()).exists()


def lease_delivery(delivery: WebhookDelivery) -> Lease:
    """Lease a delivery that this transaction made."""
    return _take([delivery.pk])[0]


def _take(deliveries: list[int]) -> list[Lease]:
    return statements.fetch(Query(_TAKE, (LEASE, deliveries), row=_lease))


def _lease(row: Sequence[Any]) -> Lease:
    found = Lease._make(row)
    # Django's connection returns JSON as text.
    data = None if row[6] is None else orjson.loads(row[6])
    return found._replace(data=data, attempts=orjson.loads(row[7]))
