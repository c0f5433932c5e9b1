"""Events go after 30 days, from the beginning of their feed: contract, section 10."""

from datetime import timedelta

import pytest

from events.management.commands.purge_expired import EVENTS_KEPT
from events.models import Event, EventFeed, OutboxEntry, WebhookEndpoint
from partners.models import Partner
from tests import factories
from tests.support.commands import outcome
from tests.support.events import add_events, make_older, place_events
from users.models import Status

EXPIRED, KEPT = EVENTS_KEPT + timedelta(minutes=1), EVENTS_KEPT - timedelta(days=1)


@pytest.fixture(autouse=True)
def nothing_expired(committed_partner: Partner) -> None:
    """Purge the committed events of other tests."""
    place_events()
    outcome("purge_expired")


def make_events(partner: Partner, *ages: timedelta) -> list[Event]:
    """Events of these ages, at the end of the feed."""
    user = add_events(partner, len(ages))
    events = list(Event.objects.filter(user_id=user.pk).order_by("position"))
    for event, age in zip(events, ages, strict=True):
        make_older(event, age)
    return events


def positions(partner: Partner) -> list[int]:
    return list(Event.objects.filter(partner=partner).order_by("id").values_list("position", flat=True))


def purged_position(partner: Partner) -> int:
    return EventFeed.objects.get(partner=partner).purged_position


@pytest.mark.parametrize("batch_size", ["1", "2", "3", "100"])
def test_only_events_past_30_days_go(committed_partner: Partner, batch_size: str) -> None:
    make_events(committed_partner, EXPIRED, EXPIRED, EXPIRED, KEPT, KEPT)
    assert outcome("purge_expired", "--batch-size", batch_size)["events"] == 3
    assert (positions(committed_partner), purged_position(committed_partner)) == ([4, 5], 3)
    assert outcome("purge_expired", "--batch-size", batch_size)["events"] == 0


@pytest.mark.parametrize("batch_size", ["1", "2", "100"])
def test_an_old_event_behind_one_that_is_kept_stays(committed_partner: Partner, batch_size: str) -> None:
    make_events(committed_partner, EXPIRED, KEPT, EXPIRED)
    assert outcome("purge_expired", "--batch-size", batch_size)["events"] == 1
    assert (positions(committed_partner), purged_position(committed_partner)) == ([2, 3], 1)


def test_what_is_in_no_feed_yet_stays(committed_partner: Partner) -> None:
    make_events(committed_partner, EXPIRED)
    factories.UserFactory.create(partner=committed_partner, status=Status.ACTIVE)
    make_older(OutboxEntry.objects.get(), EXPIRED)
    assert outcome("purge_expired")["events"] == 1
    assert positions(committed_partner) == []
    place_events()
    assert positions(committed_partner) == [2]
    assert outcome("purge_expired")["events"] == 1


def test_each_partners_feed_is_purged_by_itself(committed_partner: Partner) -> None:
    other = factories.PartnerFactory.create(slug=f"{committed_partner.slug}-other")
    make_events(committed_partner, EXPIRED, EXPIRED)
    make_events(other, KEPT, EXPIRED)
    outcome("purge_expired")
    assert (positions(committed_partner), purged_position(committed_partner)) == ([], 2)
    assert (positions(other), purged_position(other)) == ([1, 2], 0)


def test_deliveries_go_with_their_event(committed_partner: Partner) -> None:
    endpoint = WebhookEndpoint.objects.create(partner=committed_partner, url="https://hooks.example/")
    make_events(committed_partner, EXPIRED, KEPT)
    assert endpoint.deliveries.count() == 2
    assert outcome("purge_expired")["events"] == 1
    assert [delivery.event.position for delivery in endpoint.deliveries.all() if delivery.event] == [2]
