"""Metrics of events and webhooks; a feed whose events cannot be placed stops alone, and says so.

docs/operations.md, "A feed stops".
"""

import re
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import psycopg
import pytest
from django.conf import settings
from django.db import connections
from django.utils import timezone

from core.database import serving_role
from events.feed import relay
from events.feed.relay import Relay
from events.models import Event, WebhookEndpoint
from events.monitoring import feeds, webhooks
from events.webhooks import endpoints
from partners.models import Partner
from tests import factories
from tests.conftest import database_url
from tests.support.events import place_events
from users.models import Status

RUNBOOK = Path(settings.BASE_DIR, "docs/operations.md")
STRAY = """
    INSERT INTO events_event (partner_id, user_id, type, created_at, data, position)
    SELECT partner_id, gen_random_uuid(), 'user.statusChanged', now(), '{}', last_position + 1
      FROM events_eventfeed WHERE partner_id = %s
"""
TOO_LOW = "UPDATE events_eventfeed SET last_position = 0 WHERE partner_id = %s"


def add_event(partner: Partner) -> None:
    factories.UserFactory.create(partner=partner, status=Status.ACTIVE)


def as_owner(statement: str, *parameters: int) -> None:
    with connections[serving_role.OWNER].cursor() as cursor:
        cursor.execute(statement, parameters)
    connections[serving_role.OWNER].close()


def scraped() -> dict[str, float]:
    """The samples by name, with the label's value."""
    with psycopg.connect(database_url(serving_role.SERVING)) as database:
        samples = [one for metric in (*webhooks(database), *feeds(database)) for one in metric.samples]
    return {":".join((one.name, *one.labels.values())): one.value for one in samples}


def stopped_in_metrics() -> set[str]:
    return {name.partition(":")[2] for name in scraped() if name.startswith("psi_event_feed_stopped")}


def repair(partner: Partner) -> str:
    """The statement of the runbook, for the partner."""
    [chapter] = re.findall(r"^### A feed stops$(.*?)^### ", RUNBOOK.read_text(), re.MULTILINE | re.DOTALL)
    [statement] = re.findall(r"```sql\n *(UPDATE.*?)```", chapter, re.DOTALL)
    return str(statement).replace("'SLUG'", f"'{partner.slug}'")


@pytest.fixture
def other(committed_partner: Partner) -> Partner:
    partner: Partner = factories.PartnerFactory.create(slug=f"{committed_partner.slug}-other")
    return partner


@pytest.fixture
def stopped(request: Any, committed_partner: Partner) -> Iterator[Partner]:
    """A partner with a placed event, and one that cannot be placed, after a stray event or the test's own reason."""
    place_events()
    add_event(committed_partner)
    place_events()
    as_owner(getattr(request, "param", STRAY), committed_partner.pk)
    add_event(committed_partner)
    yield committed_partner
    # For later tests, which place all committed events.
    as_owner(repair(committed_partner))
    place_events()


def test_it_stops_no_other_feed(stopped: Partner, other: Partner) -> None:
    add_event(other)
    assert Relay().assign_positions() == 1
    assert Event.objects.filter(partner=other).count() == 1
    assert stopped_in_metrics() == {stopped.slug}
    # Nothing waits once the owner has removed its entries.
    as_owner("DELETE FROM events_outboxentry WHERE partner_id = %s", stopped.pk)
    assert stopped_in_metrics() == set()


def test_each_attempt_is_logged(stopped: Partner, monkeypatch: pytest.MonkeyPatch, caplog: Any) -> None:
    monkeypatch.setattr(relay, "FAILED_PAUSE_SECONDS", 0.0)
    tried = Relay()
    assert (tried.assign_positions(), tried.assign_positions()) == (0, 0)
    said = {"event": "event feed stopped", "partner": stopped.slug, "failure": "23505 event_position"}
    assert [{name: record.msg[name] for name in said} for record in caplog.records] == [said] * 2


def test_others_are_placed_while_it_waits_for_its_next_attempt(stopped: Partner, other: Partner) -> None:
    tried = Relay()
    tried.assign_positions()
    as_owner(repair(stopped))
    add_event(other)
    assert tried.assign_positions() == 1
    assert Event.objects.filter(partner=other).exists()


@pytest.mark.parametrize("stopped", [STRAY, TOO_LOW], ids=["a stray event", "a position too low"], indirect=True)
def test_the_runbook_repairs_it(stopped: Partner) -> None:
    Relay().assign_positions()
    assert stopped_in_metrics() == {stopped.slug}
    events = Event.objects.filter(partner=stopped).order_by("position").values_list("event_id", flat=True)
    before = list(events)
    as_owner(repair(stopped))
    assert Relay().assign_positions() == 1
    assert list(events.all())[:-1] == before
    assert stopped_in_metrics() == set()


def test_metrics_are_read_from_the_tables(committed_partner: Partner) -> None:
    # What other tests have committed.
    Relay().assign_positions()
    before = scraped()
    nothing = ("webhook_deliveries_pending", "webhook_oldest_due_seconds", "event_feed_lag_seconds", "webhooks_failing")
    assert [before[f"psi_{name}"] for name in nothing] == [0] * 4

    endpoint, disabled = factories.WebhookEndpointFactory.create_batch(2, partner=committed_partner)
    hour_ago = timezone.now() - timedelta(hours=1)
    for one in (endpoint, disabled):
        factories.WebhookDeliveryFactory.create(endpoint=one, next_attempt_at=hour_ago)
    factories.WebhookDeliveryFactory.create(endpoint=endpoint, next_attempt_at=timezone.now() + timedelta(hours=1))
    endpoints.change_endpoint(disabled, enabled=False)
    WebhookEndpoint.objects.update(failing_since=hour_ago)
    add_event(committed_partner)

    after = scraped()
    assert after["psi_webhook_deliveries_pending"] == 2
    assert 3600 <= after["psi_webhook_oldest_due_seconds"] < 7200
    assert after["psi_event_feed_lag_seconds"] > 0
    assert after["psi_webhooks_disabled:staff"] == 1
    # The disabled one is not among them.
    assert after["psi_webhooks_failing"] == 1
