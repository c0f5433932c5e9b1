"""Deliveries: a process leases those that are due, makes the attempt and records it; and what staff ask for.

Contract, section 10. The database makes deliveries where it places events. The lease of a killed process ends by
itself, and another makes the attempt: a receiver gets each event at least once. Changes lock the endpoint first.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import Any, NamedTuple
from uuid import UUID

import orjson
from django.db import transaction
from django.db.models import Q
from django.db.models.functions import Now
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from core import audit
from core.database import statements
from core.database.pipeline import Query
from core.database.schema import json_text, wire_time
from core.refusals import RefusedError
from events.models import RECEIVES_EVENTS, DeliveryState, Event, WebhookDelivery, WebhookEndpoint
from events.webhooks import endpoints

TEST_TYPE = "webhook.test"
TESTED = audit.register("webhook.tested", gettext_lazy("Webhook test sent"))
RETRIED = audit.register("webhook.retried", gettext_lazy("Webhook deliveries retried"))

# Attempts for one endpoint at once, by all processes together.
MAX_AT_ONCE = 2
# An attempt takes at most 15 s, then its result is recorded.
LEASE = timedelta(seconds=30)
# Due deliveries of an endpoint that are looked at: some 10 µs each.
MAX_DUE = 10_000
RETRIED_AT_ONCE = 10_000

# The commit is not flushed: after a crash of the database the delivery is in its former state, and is leased or
# recorded again.
WITHOUT_FLUSH = "set_config('synchronous_commit', 'off', true)"
# One process at a time leases deliveries: the snapshot of the next shows what it has leased. 5: the kind of this lock.
_LOCK = "pg_advisory_xact_lock(5, 0)"

_IS_DUE = """state = 'pending' AND next_attempt_at <= statement_timestamp()
    AND (leased_until IS NULL OR leased_until <= statement_timestamp())"""
# The body is the event as in the feed, the same at each attempt.
_TEST = json_text(
    '{"eventId":"%s","type":"%s","createdAt":"%s","data":{"webhookId":"%s"}}',
    *("event_uuid", "type", wire_time("created_at"), "endpoint_id"),
)
_LEASE = f"""
    UPDATE events_webhookdelivery delivery SET leased_until = statement_timestamp() + %s::interval
     WHERE id IN (SELECT id FROM chosen)
 RETURNING id, endpoint_id, (SELECT url FROM events_webhookendpoint WHERE id = endpoint_id), event_uuid,
           event_id IS NULL, coalesce((SELECT {Event.wire} FROM events_event WHERE id = delivery.event_id), {_TEST}),
           attempts, attempt_count, leased_until
"""
# Of each endpoint its tests, also where it is disabled, then its events, of a user only the earliest that is not yet
# attempted. Due deliveries are read in the order of their index until enough are found: many where those of one user
# wait. The order of the endpoints is random, so that each gets its turn where not all get one.
_LEASE_DUE = f"""
    WITH due AS (
        SELECT delivery.id
          FROM events_webhookendpoint endpoint
         CROSS JOIN LATERAL (
               SELECT greatest(0, {MAX_AT_ONCE} - count(*)) AS free FROM events_webhookdelivery
                WHERE endpoint_id = endpoint.id AND leased_until > statement_timestamp()) AS room
         CROSS JOIN LATERAL (
              (SELECT id, false AS is_event FROM events_webhookdelivery
                WHERE endpoint_id = endpoint.id AND event_id IS NULL AND {_IS_DUE} LIMIT free)
               UNION ALL
              (SELECT id, true
                 FROM (SELECT * FROM events_webhookdelivery
                        WHERE endpoint_id = endpoint.id AND event_id IS NOT NULL AND {RECEIVES_EVENTS} AND {_IS_DUE}
                        ORDER BY next_attempt_at, position LIMIT %s) AS next
                WHERE attempt_count > 0 OR position = (
                      SELECT min(position) FROM events_webhookdelivery
                       WHERE endpoint_id = endpoint.id AND user_id = next.user_id
                         AND state = 'pending' AND attempt_count = 0)
                ORDER BY next_attempt_at, position LIMIT free)
                ORDER BY is_event LIMIT free) AS delivery
         WHERE endpoint.removed_at IS NULL
         ORDER BY random() LIMIT %s
    ), chosen AS (
        SELECT id FROM events_webhookdelivery WHERE id IN (SELECT id FROM due) AND {_IS_DUE} FOR UPDATE SKIP LOCKED
    )
    {_LEASE}
"""
_LEASE_ONE = f"""
    WITH chosen AS (
        SELECT id FROM events_webhookdelivery
         WHERE id = %s AND leased_until IS NOT DISTINCT FROM %s::timestamptz FOR UPDATE SKIP LOCKED
    )
    {_LEASE}
"""


class BusyError(RefusedError):
    """MAX_AT_ONCE requests to an endpoint are under way."""


class Lease(NamedTuple):
    """A leased delivery. body: JSON. attempts: those stored, of attempt_count. secrets: they sign it, newest first."""

    delivery_id: int
    endpoint_id: UUID
    url: str
    event_id: UUID
    is_test: bool
    body: str
    attempts: list[dict[str, Any]]
    attempt_count: int
    leased_until: datetime
    secrets: Sequence[str]


def lease(*, limit: int) -> list[Lease]:
    """Lease due deliveries of active endpoints, and tests, for LEASE: at most MAX_AT_ONCE of an endpoint."""
    # In one round trip and one transaction: a process that is frozen afterwards holds no lock.
    lock: Query[Any] = Query(f"SELECT {_LOCK}, {WITHOUT_FLUSH}", ())
    _, rows = statements.fetch_both(lock, Query(_LEASE_DUE, (MAX_DUE, limit, LEASE)))
    return _leases(rows or [])


def lease_test(*, endpoint: WebhookEndpoint, is_only: bool = False) -> Lease:
    """Create a `webhook.test`, leased before others see it. is_only: the partner's only one. Raises BusyError."""
    statements.fetch_all(f"SELECT {_LOCK}", ())
    leased = WebhookDelivery.objects.filter(leased_until__gt=Now())
    tests = leased.filter(endpoint__partner=endpoint.partner_id, event=None)
    if leased.filter(endpoint=endpoint).count() >= MAX_AT_ONCE or (is_only and tests.exists()):
        raise BusyError(f"{MAX_AT_ONCE} requests to it are under way: try again in a few seconds.")
    test = create_test(endpoint=endpoint)
    return _leases(statements.fetch_all(_LEASE_ONE, (test.pk, None, LEASE)))[0]


def renewed(lease: Lease) -> list[Lease]:
    """The lease for LEASE from now on; none if it was lost, or a session that may delete the delivery has locked it."""
    return _leases(statements.fetch_all(_LEASE_ONE, (lease.delivery_id, lease.leased_until, LEASE)))


def _leases(rows: Sequence[statements.Row]) -> list[Lease]:
    secrets = endpoints.secrets_by_endpoint({row[1] for row in rows}) if rows else {}
    # Django's connection returns JSON as text, in which PostgreSQL puts white space: the feed has none.
    leases = []
    for *head, body, attempts, count, until in rows:
        compact = orjson.dumps(orjson.loads(body)).decode()
        leases.append(Lease._make((*head, compact, orjson.loads(attempts), count, until, secrets[head[1]])))
    return leases


def create_test(*, endpoint: WebhookEndpoint) -> WebhookDelivery:
    """Create a `webhook.test`, which is sent once, before the endpoint's events."""
    audit.record(TESTED, object=str(endpoint.pk))
    return WebhookDelivery.objects.create(endpoint=endpoint, type=TEST_TYPE)


def retry(*, endpoint: WebhookEndpoint, since: datetime | None = None, delivery: WebhookDelivery | None = None) -> int:
    """Have deliveries attempted now that failed, or wait for their next attempt; return their number.

    since: only those created since then. delivery: only this one. One that failed gets one more attempt. Of many, each
    RETRIED_AT_ONCE are a transaction, for whose end the endpoint's results wait.
    Raises RefusedError for an endpoint that is disabled: what is due then is skipped when it is enabled.
    """
    found = WebhookDelivery.objects.filter(endpoint=endpoint.pk)
    if delivery is not None:
        found = found.filter(pk=delivery.pk)
    waits = Q(state=DeliveryState.PENDING, next_attempt_at__gt=Now()) | Q(state=DeliveryState.FAILED)
    not_leased = Q(leased_until=None) | Q(leased_until__lte=Now())
    chosen = found.filter(waits, not_leased, event__isnull=False)
    if since is not None:
        chosen = chosen.filter(created_at__gte=since)
    total, ids = 0, [0]
    while ids:
        with transaction.atomic():
            if not all(locked.is_active for locked in lock([endpoint.pk])):
                raise RefusedError(_("The webhook is disabled."))
            ids = list(found.filter(pk__gt=ids[-1]).order_by("pk").values_list("pk", flat=True)[:RETRIED_AT_ONCE])
            count = chosen.filter(pk__in=ids).update(state=DeliveryState.PENDING, next_attempt_at=Now(), ended_at=None)
            if count:
                audit.record(RETRIED, object=str(endpoint.pk), detail={"deliveries": count})
        total += count
    return total


def lock(endpoints: Iterable[UUID], *, skip_locked: bool = False) -> list[WebhookEndpoint]:
    """Lock endpoints until the transaction ends; return them. skip_locked: without those that another session has."""
    rows = WebhookEndpoint.objects.select_for_update(no_key=True, skip_locked=skip_locked)
    # Two processes may lock the same rows, so they do it in one order.
    return list(rows.filter(pk__in=set(endpoints)).order_by("pk"))
