"""Makes events as the service does: by changes, which the relay then places. The secrets of a webhook."""

from datetime import timedelta

from django.db import connections
from django.db.models.functions import Now

from core.database import serving_role
from events.feed.relay import Relay
from events.models import Event, OutboxEntry, WebhookEndpoint
from events.webhooks import endpoints
from partners.models import Partner
from tests import factories
from users.models import User


def place_events() -> None:
    """Bring all committed events, and those of the test's transaction, into their feeds."""
    relay = Relay()
    while relay.assign_positions():
        pass


def add_events(partner: Partner, count: int) -> User:
    """Make a user of the partner, with this number of placed events."""
    user: User = factories.UserFactory.create(partner=partner)
    factories.add_documents(user, [factories.NOON] * count)
    place_events()
    return user


def make_older(event: Event | OutboxEntry, age: timedelta) -> None:
    """Date a committed event back."""
    rows = type(event)._default_manager.using(serving_role.OWNER).filter(pk=event.pk)
    assert rows.update(created_at=Now() - age) == 1
    connections[serving_role.OWNER].close()


def secrets_in_force(endpoint: WebhookEndpoint) -> list[str]:
    """The secrets that sign the endpoint's deliveries, newest first."""
    return endpoints.secrets_by_endpoint([endpoint.pk])[endpoint.pk]
