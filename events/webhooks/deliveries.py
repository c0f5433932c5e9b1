"""Deliveries: what staff ask for (contract, section 10).

The database makes them where it places events; other modules lease them to a process (leases.py) and record its
attempts (results.py). Changes lock the endpoint first.
"""

from collections.abc import Iterable
from datetime import datetime
from uuid import UUID

from django.db import transaction
from django.db.models import Q, QuerySet
from django.db.models.functions import Now
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from core import audit
from core.database import statements
from core.database.pipeline import Query
from core.refusals import RefusedError
from events.models import DeliveryState, WebhookDelivery, WebhookEndpoint

TEST_TYPE = "webhook.test"
# What an endpoint got in five days of failing may be a million rows.
SKIP_SECONDS = 60
_SKIP_DUE = """
    WITH skipped AS (
        UPDATE events_webhookdelivery SET state = 'skipped', ended_at = statement_timestamp(), leased_until = NULL
         WHERE endpoint_id = %s AND state = 'pending' AND next_attempt_at <= statement_timestamp()
           AND (leased_until IS NULL OR leased_until <= statement_timestamp())
     RETURNING id
    )
    SELECT count(*) FROM skipped
"""
TESTED = audit.register("webhook.tested", gettext_lazy("Webhook test sent"))
RETRIED = audit.register("webhook.retried", gettext_lazy("Webhook deliveries retried"))


def create_test(*, endpoint: WebhookEndpoint) -> WebhookDelivery:
    """Create a `webhook.test`, which is sent once, before the endpoint's events."""
    audit.record(TESTED, object=str(endpoint.pk))
    return WebhookDelivery.objects.create(endpoint=endpoint, type=TEST_TYPE)


def retry(*, endpoint: WebhookEndpoint, since: datetime | None = None, delivery: WebhookDelivery | None = None) -> int:
    """Have deliveries attempted now that failed, or wait for their next attempt; return their number.

    since: only those created since then. delivery: only this one. One that failed gets one more attempt.
    Raises RefusedError for an endpoint that is disabled: what is due then is skipped when it is enabled.
    """
    with transaction.atomic():
        if not all(locked.is_active for locked in lock([endpoint.pk])):
            raise RefusedError(_("The webhook is disabled."))
        chosen = _unleased(endpoint).filter(event__isnull=False)
        if since is not None:
            chosen = chosen.filter(created_at__gte=since)
        if delivery is not None:
            chosen = chosen.filter(pk=delivery.pk)
        waiting = Q(state=DeliveryState.PENDING, next_attempt_at__gt=Now())
        count = chosen.filter(waiting | Q(state=DeliveryState.FAILED)).update(
            state=DeliveryState.PENDING, next_attempt_at=Now(), ended_at=None
        )
        if count:
            audit.record(RETRIED, object=str(endpoint.pk), detail={"deliveries": count})
        return count


def skip_due(*, endpoint: WebhookEndpoint) -> int:
    """Skip what fell due while the endpoint was disabled; return the number. Call it with the endpoint locked."""
    skip: Query[tuple[int]] = Query(_SKIP_DUE, (endpoint.pk,))
    [(count,)] = statements.fetch_within(SKIP_SECONDS, skip)
    return count


def lock(endpoints: Iterable[UUID]) -> list[WebhookEndpoint]:
    """Lock endpoints until the transaction ends; return them."""
    rows = WebhookEndpoint.objects.select_for_update(no_key=True).filter(pk__in=set(endpoints))
    # Two processes may lock the same rows, so they do it in one order.
    return list(rows.order_by("pk"))


def _unleased(endpoint: WebhookEndpoint) -> QuerySet[WebhookDelivery]:
    """The endpoint's deliveries that no process attempts now."""
    return WebhookDelivery.objects.filter(Q(leased_until=None) | Q(leased_until__lte=Now()), endpoint=endpoint.pk)
