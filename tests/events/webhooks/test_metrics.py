"""Metrics of events and webhooks, as of a scrape."""

from datetime import timedelta

import psycopg
from django.utils import timezone

from core.database import serving_role
from events.feed.relay import Relay
from events.metrics import feeds, webhooks
from events.models import WebhookEndpoint
from events.webhooks import endpoints
from partners.models import Partner
from tests.conftest import database_url
from tests.factories import UserFactory, WebhookDeliveryFactory, WebhookEndpointFactory
from users.models import Status


def scraped() -> dict[str, float]:
    """The samples by name, with the label's value."""
    with psycopg.connect(database_url(serving_role.SERVING)) as database:
        metrics = [*webhooks(database), *feeds(database)]
    samples = [sample for metric in metrics for sample in metric.samples]
    return {
        "".join((sample.name, *(f":{value}" for value in sample.labels.values()))): sample.value for sample in samples
    }


def test_they_are_read_from_the_tables(committed_partner: Partner) -> None:
    # What other tests have committed.
    Relay().assign_positions()
    before = scraped()
    assert before["psi_webhook_deliveries_pending"] == 0
    assert before["psi_webhook_oldest_due_seconds"] == 0
    assert before["psi_event_feed_lag_seconds"] == 0
    assert before["psi_webhooks_failing"] == 0

    endpoint, disabled = WebhookEndpointFactory.create_batch(2, partner=committed_partner)
    hour_ago = timezone.now() - timedelta(hours=1)
    for one in (endpoint, disabled):
        WebhookDeliveryFactory.create(endpoint=one, next_attempt_at=hour_ago)
    WebhookDeliveryFactory.create(endpoint=endpoint, next_attempt_at=timezone.now() + timedelta(hours=1))
    endpoints.disable(disabled)
    WebhookEndpoint.objects.update(failing_since=hour_ago)
    UserFactory.create(partner=committed_partner, status=Status.ACTIVE)

    after = scraped()
    assert after["psi_webhook_deliveries_pending"] == 2
    assert 3600 <= after["psi_webhook_oldest_due_seconds"] < 7200
    assert after["psi_event_feed_lag_seconds"] > 0
    assert after["psi_webhooks_disabled:staff"] == 1
    # The disabled one is not among them.
    assert after["psi_webhooks_failing"] == 1
