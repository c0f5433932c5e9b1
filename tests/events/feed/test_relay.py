"""The relay gives committed events their positions in the feeds of their partners."""

import time
from datetime import timedelta
from typing import Any
from unittest.mock import Mock

import pytest
from django.db import OperationalError, transaction
from psycopg.errors import QueryCanceled

from core.database import statements
from core.database.pipeline import Query
from events.feed import relay
from events.feed.relay import Relay
from events.models import Event, EventFeed, EventType
from partners.models import Partner
from tests.factories import NOON, ConversionFactory, DocumentFactory, PartnerFactory, UserFactory, add_documents
from tests.support.plans import generic_plan, nodes, planning_without
from users.models import Status, User

pytestmark = pytest.mark.django_db


def test_each_partner_has_positions_of_its_own() -> None:
    one, other = PartnerFactory.create(), PartnerFactory.create()
    for partner in (one, other, one):
        UserFactory.create(partner=partner, status=Status.ACTIVE)

    assert Relay().assign_positions() == 3
    assert list(Event.objects.filter(partner=one).order_by("id").values_list("position", flat=True)) == [1, 2]
    assert list(Event.objects.filter(partner=other).values_list("position", flat=True)) == [1]


def test_positions_go_on_after_the_last() -> None:
    partner = PartnerFactory.create()
    UserFactory.create(partner=partner, status=Status.SUSPENDED)
    Relay().assign_positions()
    UserFactory.create(partner=partner, status=Status.ACTIVE)
    Relay().assign_positions()

    assert list(Event.objects.order_by("id").values_list("position", flat=True)) == [1, 2, 3]
    assert EventFeed.objects.get().last_position == 3


def test_a_feed_whose_statement_fails_stops_no_other_and_is_tried_again_later(monkeypatch: pytest.MonkeyPatch) -> None:
    failing, other = (UserFactory.create(status=Status.ACTIVE).partner for _ in range(2))
    fetch, feeds, now = statements.fetch_within, Relay(), time.monotonic()

    def fail(cause: Exception | None) -> None:
        def fetch_other(seconds: int, query: Query[Any]) -> list[Any]:
            if query.parameters[0] == failing.pk:
                raise OperationalError("failed") from cause
            return fetch(seconds, query)

        monkeypatch.setattr(statements, "fetch_within", fetch_other)

    fail(QueryCanceled())
    assert feeds.assign_positions() == 1
    assert list(Event.objects.values_list("partner", flat=True)) == [other.pk]
    monkeypatch.setattr(statements, "fetch_within", fetch)
    for seconds, placed in ((relay.FAILED_PAUSE_SECONDS / 2, 0), (60, 1)):
        monkeypatch.setattr(relay, "time", Mock(monotonic=lambda seconds=seconds: now + seconds))
        assert feeds.assign_positions() == placed
    # Without the server's word the connection is lost, for all feeds.
    UserFactory.create(status=Status.ACTIVE, partner=failing)
    fail(None)
    with pytest.raises(OperationalError):
        feeds.assign_positions()


def test_without_events_nothing_is_done() -> None:
    assert Relay().assign_positions() == 0


def test_a_type_that_this_version_does_not_know_waits_for_a_newer_one(monkeypatch: pytest.MonkeyPatch) -> None:
    user = UserFactory.create(status=Status.ACTIVE)
    assert Relay().assign_positions() == 1
    DocumentFactory.create(user=user)
    with monkeypatch.context() as older:
        older.setattr(relay, "TYPES", [EventType.STATUS_CHANGED, EventType.TRANSACTIONS_RECORDED])
        assert Relay().assign_positions() == 0

    assert Relay().assign_positions() == 1
    assert list(Event.objects.order_by("position").values_list("type", flat=True)) == [
        "user.statusChanged",
        "user.documentPublished",
    ]


def test_what_a_transaction_inserted_in_many_statements_is_read_once(partner: Partner) -> None:
    user: User = UserFactory.create(partner=partner)
    for _ in range(30):
        ConversionFactory.create(user=user)
    with planning_without("seqscan", "bitmapscan", "sort", "hashjoin", "mergejoin"):
        found = generic_plan(relay.pending_entries())

    # Not the square of it.
    assert max(node["Actual Rows"] * node["Actual Loops"] for node in nodes(found)) <= 2 * 30
    assert Relay().assign_positions() == 1
    assert Event.objects.get(type=EventType.TRANSACTIONS_RECORDED).data["count"] == 30


def test_a_long_queue_makes_no_turn_longer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(relay, "BATCH", 5)
    user: User = UserFactory.create()
    add_documents(user, [NOON] * 50)
    with planning_without("seqscan", "bitmapscan", "sort"):
        found = generic_plan(relay.pending_entries())

    (first,) = [node for node in nodes(found) if node["Node Type"] == "Limit"]
    (scan,) = first["Plans"]
    assert (scan["Index Name"], scan["Actual Rows"]) == ("outbox_of_partner", 5)


def test_conversions_of_a_transaction_are_one_event_for_each_user() -> None:
    ada, grace = UserFactory.create(), UserFactory.create()
    for user, ahead in ((ada, 0), (grace, 0), (ada, -1), (ada, 1)):
        ConversionFactory.create(user=user, created_at=NOON + timedelta(days=ahead))
    Relay().assign_positions()

    by_user = {event.user_id: event.data for event in Event.objects.all()}
    assert by_user[ada.pk] == {
        "externalId": ada.external_id,
        "userId": str(ada.pk),
        "count": 3,
        "oldestCreatedAt": "2026-01-14T12:00:00.000000Z",
        "newestCreatedAt": "2026-01-16T12:00:00.000000Z",
    }
    assert by_user[grace.pk]["count"] == 1
    assert Event.objects.count() == 2


def test_a_change_that_is_rolled_back_leaves_no_event() -> None:
    user = UserFactory.create()
    with transaction.atomic():
        ConversionFactory.create(user=user)
        transaction.set_rollback(True)
    assert Relay().assign_positions() == 0
