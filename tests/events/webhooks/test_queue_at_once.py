"""Several processes lease deliveries at once: contract, section 10."""

import pytest
from django.utils import timezone

from events.feed.relay import Relay
from events.models import WebhookDelivery, WebhookEndpoint
from events.webhooks import leases
from events.webhooks.results import AttemptResult, record_all
from partners.models import Partner
from tests.factories import UserFactory, WebhookEndpointFactory
from tests.support.at_once import at_once
from users.models import Status

pytestmark = pytest.mark.usefixtures("no_other_endpoint")


@pytest.fixture
def committed_endpoint(committed_partner: Partner) -> WebhookEndpoint:
    return WebhookEndpointFactory.create(partner=committed_partner)


def test_sessions_at_once_lease_two_together(committed_endpoint: WebhookEndpoint) -> None:
    UserFactory.create_batch(20, partner=committed_endpoint.partner, status=Status.ACTIVE)
    Relay().assign_positions()
    for _ in range(5):
        found = at_once(4, lambda _: leases.lease(limit=10))
        ids = [one.delivery_id for batch in found for one in batch]
        assert len(ids) == len(set(ids)) == 2
        assert WebhookDelivery.objects.exclude(leased_until=None).count() == 2
        for batch in found:
            record_all((one, AttemptResult(timezone.now(), 12, 204)) for one in batch)
