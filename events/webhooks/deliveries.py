"""Deliveries: what staff ask for (contract, section 10).

Other modules make them (fan_out.py), lease them to a process (leases.py), and record its attempts (results.py). Changes
of deliveries lock the endpoint first.
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
from core.refusals import RefusedError
from events.models import DeliveryState, WebhookDelivery, WebhookEndpoint

TEST_TYPE = "webhook.test"
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
    due = _unleased(endpoint).filter(state=DeliveryState.PENDING, next_attempt_at__lte=Now())
    return due.update(state=DeliveryState.SKIPPED, ended_at=Now(), leased_until=None)


def lock(endpoints: Iterable[UUID]) -> list[WebhookEndpoint]:
    """Lock endpoints until the transaction ends; return them."""
    rows = WebhookEndpoint.objects.select_for_update(no_key=True).filter(pk__in=set(endpoints))
    # Two processes may lock the same rows, so they do it in one order.
    return list(rows.order_by("pk"))


def _unleased(endpoint: WebhookEndpoint) -> QuerySet[WebhookDelivery]:
    """The endpoint's deliveries that no process attempts now."""
    return WebhookDelivery.objects.filter(Q(leased_until=None) | Q(leased_until__lte=Now()), endpoint=endpoint.pk)
