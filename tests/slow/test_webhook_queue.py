"""Deliveries are made and leased: contract, section 10."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db.models import F
from django.utils import timezone

from events.feed.relay import Relay
from events.models import Event, WebhookDelivery, WebhookEndpoint
from events.webhooks import deliveries, endpoints
from events.webhooks.results import AttemptResult, record
from partners.models import Partner
from tests.factories import (
    DocumentFactory,
    EventFactory,
    StatusChangeFactory,
    UserFactory,
    WebhookEndpointFactory,
)
from tests.support.at_once import at_once
from tests.support.plans import planning_without, vacuum
from users.models import Status, User


def outcome(status: int | None = 204, *, at: datetime | None = None, **fields: Any) -> AttemptResult:
    return AttemptResult(at or timezone.now(), 12, status, **fields)


def make(partner: Partner, *, users: int = 1, decisions: int = 1) -> list[User]:
    """Users with this many events each, which have deliveries."""
    path = [Status.ACTIVE, Status.SUSPENDED, Status.ACTIVE, Status.SUSPENDED]
    made = [UserFactory.create(partner=partner) for _ in range(users)]
    for number in range(decisions):
        for user in made:
            StatusChangeFactory.create(user=user, to_status=path[number])
    Relay().assign_positions()
    return made


def lease_one() -> deliveries.Lease:
    (found,) = deliveries.lease(limit=10)
    return found


def user_of(lease: deliveries.Lease) -> str:
    return str(json.loads(lease.body)["data"]["userId"])


def expire() -> None:
    """End all leases, as time would."""
    WebhookDelivery.objects.exclude(leased_until=None).update(leased_until=F("leased_until") - timedelta(hours=1))


# Making


def test_each_active_endpoint_has_a_delivery_of_each_wanted_event(partner: Partner, endpoint: WebhookEndpoint) -> None:
    narrow = WebhookEndpointFactory.create(partner=partner, types=["user.documentPublished"])
    disabled, removed = WebhookEndpointFactory.create_batch(2, partner=partner)
    endpoints.change_endpoint(disabled, enabled=False)
    endpoints.remove(removed)
    other = WebhookEndpointFactory.create()

    (user, _) = make(partner, users=2)
    DocumentFactory.create(user=user)
    Relay().assign_positions()

    assert [row.position for row in endpoint.deliveries.order_by("position")] == [1, 2, 3]
    assert [row.position for row in narrow.deliveries.all()] == [3]
    assert not WebhookDelivery.objects.exclude(endpoint__in=(endpoint, narrow))
    assert other.deliveries.count() == 0


def test_an_endpoint_gets_what_is_placed_after_it_was_added_and_by_its_types_then(
    partner: Partner, endpoint: WebhookEndpoint
) -> None:
    make(partner)
    endpoints.change_endpoint(endpoint, types=["user.documentPublished"])
    late = WebhookEndpointFactory.create(partner=partner)
    make(partner)

    assert [row.position for row in endpoint.deliveries.all()] == [1]
    assert [row.position for row in late.deliveries.all()] == [2]


def test_a_delivery_has_the_columns_of_its_event(partner: Partner, endpoint: WebhookEndpoint) -> None:
    (user,) = make(partner)
    event, delivery = Event.objects.get(), endpoint.deliveries.get()
    assert (delivery.event, delivery.event_uuid, delivery.type) == (event, event.event_id, event.type)
    assert (delivery.user_id, delivery.position, delivery.state) == (user.pk, 1, "pending")
    assert (delivery.attempts, delivery.attempt_count) == ([], 0)


# Leasing


def test_two_of_an_endpoint_are_leased_at_once(partner: Partner, endpoint: WebhookEndpoint) -> None:
    make(partner, users=5)
    first = deliveries.lease(limit=10)
    assert [one.endpoint_id for one in first] == [endpoint.pk] * 2
    assert deliveries.lease(limit=10) == []

    record((first[0], outcome()))
    (third,) = deliveries.lease(limit=10)
    assert third.delivery_id not in {one.delivery_id for one in first}


def test_a_lease_has_the_event_as_the_feed_does(partner: Partner, endpoint: WebhookEndpoint) -> None:
    make(partner)
    event = Event.objects.get()
    found = lease_one()
    assert (found.url, found.event_id) == (endpoint.url, event.event_id)
    created_at = event.created_at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    shown = {
        "eventId": str(event.event_id),
        "type": "user.statusChanged",
        "createdAt": created_at,
        "data": event.data,
    }
    # Byte for byte, without white space.
    assert found.body == json.dumps(shown, separators=(",", ":"), ensure_ascii=False)


def test_an_expired_lease_is_leased_again(partner: Partner, endpoint: WebhookEndpoint) -> None:
    make(partner)
    first = lease_one()
    assert deliveries.lease(limit=10) == []
    expire()
    assert lease_one().delivery_id == first.delivery_id


def test_a_user_s_event_waits_for_the_first_attempt_of_the_earlier(
    partner: Partner, endpoint: WebhookEndpoint, late_retries: None
) -> None:
    make(partner, decisions=3)
    first = lease_one()
    assert first.event_id == Event.objects.get(position=1).event_id
    record((first, outcome(500)))

    second = lease_one()  # the first waits for its second attempt
    assert second.event_id == Event.objects.get(position=2).event_id
    expire()  # its process was killed: it is still in its first attempt
    assert lease_one().event_id == second.event_id


def test_events_of_other_users_and_to_other_endpoints_do_not_wait(partner: Partner, endpoint: WebhookEndpoint) -> None:
    other = WebhookEndpointFactory.create(partner=partner)
    make(partner, users=2, decisions=2)
    found = deliveries.lease(limit=10)
    assert sorted((one.endpoint_id, user_of(one)) for one in found) == sorted(
        (one.pk, str(user)) for one in (endpoint, other) for user in User.objects.values_list("pk", flat=True)
    )


def test_a_disabled_endpoint_is_sent_nothing(partner: Partner, endpoint: WebhookEndpoint) -> None:
    make(partner)
    endpoints.change_endpoint(endpoint, enabled=False)
    assert deliveries.lease(limit=10) == []
    endpoints.remove(endpoint)
    assert deliveries.lease(limit=10) == []


def test_a_disabled_partner_s_endpoints_get_their_events_once_it_is_enabled(
    partner: Partner, endpoint: WebhookEndpoint
) -> None:
    make(partner)
    Partner.objects.filter(pk=partner.pk).update(enabled=False)
    make(partner)
    assert deliveries.lease(limit=10) == []
    tested = deliveries.create_test(endpoint=endpoint)
    assert lease_one().delivery_id == tested.pk

    Partner.objects.filter(pk=partner.pk).update(enabled=True)
    assert endpoint.deliveries.filter(event__isnull=False).count() == 2
    assert deliveries.lease(limit=10)


def test_a_test_does_not_wait_behind_events_nor_for_the_endpoint_to_be_enabled(
    partner: Partner, endpoint: WebhookEndpoint
) -> None:
    make(partner, users=3)
    test = deliveries.create_test(endpoint=endpoint)
    assert test.pk in {one.delivery_id for one in deliveries.lease(limit=10)}
    expire()
    endpoints.change_endpoint(endpoint, enabled=False)
    assert lease_one().delivery_id == test.pk


def test_a_limit_is_shared_by_all_endpoints_in_the_end(partner: Partner) -> None:
    made = WebhookEndpointFactory.create_batch(4, partner=partner)
    make(partner)
    found = set()
    for _ in made:
        (one,) = deliveries.lease(limit=1)
        found.add(one.endpoint_id)
        record((one, outcome()))
    assert found == {one.pk for one in made}


def test_a_burst_of_one_user_whose_first_attempt_hangs_stops_nobody_else(
    partner: Partner, endpoint: WebhookEndpoint
) -> None:
    backlog(endpoint, 400)
    hanging = [lease.delivery_id for lease in deliveries.lease(limit=10)]
    # One of the two users of the backlog stays in its first attempt, the other one has had its.
    WebhookDelivery.objects.filter(user_id=WebhookDelivery.objects.get(pk=hanging[1]).user_id).delete()
    (other,) = make(partner)
    assert user_of(lease_one()) == str(other.pk)


def test_the_work_is_bounded_where_only_events_of_one_user_wait(
    partner: Partner, endpoint: WebhookEndpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    backlog(endpoint, 400)
    _, other = deliveries.lease(limit=10)
    WebhookDelivery.objects.filter(user_id=WebhookDelivery.objects.get(pk=other.delivery_id).user_id).delete()
    assert deliveries.lease(limit=10) == []
    rows = []
    for limit in (200, 10):
        monkeypatch.setattr(deliveries, "MAX_DUE", limit)
        rows.append(rows_read_by_lease())
    assert rows[1] < rows[0] / 5


def test_the_work_does_not_grow_with_the_backlog_of_a_dead_endpoint(
    committed_partner: Partner, no_other_endpoint: None
) -> None:
    dead, healthy = WebhookEndpointFactory.create(partner=committed_partner), WebhookEndpointFactory.create()
    rows = []
    for count in (50, 400):
        backlog(dead, count)
        make(healthy.partner)
        # Statistics of what is committed.
        vacuum("events_webhookdelivery")
        rows.append(rows_read_by_lease())
        assert healthy.pk in {one.endpoint_id for one in deliveries.lease(limit=10)}
        WebhookDelivery.objects.all().delete()
    assert rows[1] < 2 * rows[0]


def backlog(endpoint: WebhookEndpoint, count: int) -> None:
    """Deliveries that are due, of one event; no process has them."""
    event = EventFactory.create(partner=endpoint.partner)
    rows = [
        WebhookDelivery(
            endpoint=endpoint,
            event=event,
            type=event.type,
            user_id=event.event_id if number % 2 else event.user_id,
            position=number,
            next_attempt_at=timezone.now() - timedelta(hours=1),
        )
        for number in range(count)
    ]
    WebhookDelivery.objects.bulk_create(rows, batch_size=1000)


def rows_read_by_lease() -> int:
    """The rows of all nodes of the statement's plan; it leases nothing."""
    # As a large table is read, which this one is not.
    with planning_without("seqscan") as cursor:
        cursor.execute(f"EXPLAIN (ANALYZE, FORMAT JSON) {deliveries._LEASE_DUE}", (deliveries.MAX_DUE, 10, "30 s"))
        plan = cursor.fetchone()[0][0]["Plan"]
    return rows_of(plan)


def rows_of(node: dict[str, Any]) -> int:
    filtered = node.get("Rows Removed by Filter", 0)
    own = (node["Actual Rows"] + filtered) * node["Actual Loops"]
    return int(own) + sum(map(rows_of, node.get("Plans", ())))


def test_sessions_at_once_lease_two_together(committed_partner: Partner, no_other_endpoint: None) -> None:
    WebhookEndpointFactory.create(partner=committed_partner)
    UserFactory.create_batch(20, partner=committed_partner, status=Status.ACTIVE)
    Relay().assign_positions()
    for _ in range(5):
        found = at_once(4, lambda _: deliveries.lease(limit=10))
        ids = [one.delivery_id for batch in found for one in batch]
        assert len(ids) == len(set(ids)) == 2
        assert WebhookDelivery.objects.exclude(leased_until=None).count() == 2
        for batch in found:
            record(*((one, outcome()) for one in batch))
