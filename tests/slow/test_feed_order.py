"""The order of the feed, whatever commits when: contract, section 10."""

import random
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import combinations
from typing import Any, NamedTuple
from uuid import UUID

import psycopg
import pytest
from django.db import connections

from core.database import serving_role
from events.feed import relay
from events.feed.relay import Relay
from events.models import Event, EventFeed
from partners.models import Partner
from tests import factories
from tests.conftest import database_url
from tests.support.events import place_events
from tests.support.writers import Follower, Writer
from users.models import Status

RECORDED, PUBLISHED, DECIDED = "user.transactionsRecorded", "user.documentPublished", "user.statusChanged"


@pytest.fixture
def writers(committed_partner: Partner) -> Iterator[Callable[[], Writer]]:
    with ExitStack() as opened:

        def connect() -> Writer:
            writer = Writer(database_url(serving_role.SERVING))
            opened.enter_context(closing(writer.connection))
            return writer

        yield connect


@pytest.fixture
def reader(committed_partner: Partner) -> Iterator[psycopg.Connection[Any]]:
    with psycopg.connect(database_url(serving_role.SERVING), autocommit=True) as connection:
        yield connection


@pytest.fixture
def follower(reader: psycopg.Connection[Any], committed_partner: Partner) -> Follower:
    return Follower(reader, committed_partner.pk)


@pytest.fixture(autouse=True)
def empty_outbox(committed_partner: Partner) -> None:
    """Place what earlier tests have left."""
    place_events()


@pytest.fixture
def users(committed_partner: Partner) -> list[UUID]:
    return [factories.UserFactory.create(partner=committed_partner).pk for _ in range(5)]


def feed(partner: Partner) -> list[tuple[UUID, str, Any]]:
    """User, type, and status or count of each event."""
    events = Event.objects.filter(partner=partner).order_by("position")
    return [(event.user_id, event.type, event.data.get("status") or event.data.get("count")) for event in events]


# Commits that come late


def test_a_reader_of_positions_misses_no_late_commit_and_a_reader_of_ids_does(
    writers: Callable[[], Writer], reader: psycopg.Connection[Any], follower: Follower, users: list[UUID]
) -> None:
    seen_by_id: dict[int, UUID] = {}

    def poll() -> None:
        seen_by_id.update(
            reader.execute(
                "SELECT id, user_ids[1] FROM events_outboxentry WHERE id > %s ORDER BY id",
                (max(seen_by_id, default=0),),
            ).fetchall()
        )
        Relay().assign_positions()
        follower.poll()

    first, second = writers(), writers()
    first.record(users[0])
    second.record(users[1])
    second.commit()
    poll()
    first.commit()
    poll()

    assert list(seen_by_id.values()) == [users[1]]
    assert [user for _, user, _ in follower.seen] == [users[1], users[0]]


class Fact(NamedTuple):
    """What an event reports: type, user, transaction, and the number of conversions."""

    kind: str
    user: UUID
    transaction: int
    rows: int | None


def time_of(transaction: int) -> datetime:
    """The createdAt of all that a transaction inserts."""
    return factories.NOON + timedelta(seconds=transaction)


def fact_of(event: tuple[str, UUID, dict[str, Any]]) -> Fact:
    kind, user, data = event
    created_at = datetime.fromisoformat(data.get("createdAt") or data["oldestCreatedAt"])
    assert data.get("newestCreatedAt") == data.get("oldestCreatedAt")
    return Fact(kind, user, (created_at - factories.NOON) // timedelta(seconds=1), data.get("count"))


@dataclass
class History:
    """Random transactions in several sessions, and what they have committed.

    begun, committed: the step at which each transaction did so, by its number.
    """

    chance: random.Random
    users: list[UUID]
    committed: dict[int, int] = field(default_factory=dict)
    begun: dict[int, int] = field(default_factory=dict)
    # Recorded conversions and published documents by user, of each transaction.
    recorded: dict[int, Counter[UUID]] = field(default_factory=lambda: defaultdict(Counter))
    published: dict[int, Counter[UUID]] = field(default_factory=lambda: defaultdict(Counter))

    def run(self, sessions: list[Writer], between: Callable[[], object]) -> None:
        """Take random steps, with a call of `between` after some, until each session has ended its transactions."""
        left = dict.fromkeys(range(len(sessions)), 6)
        open_in: dict[int, int] = {}
        for step in range(10_000):
            if not left:
                return
            number = self.chance.choice(list(left))
            session = sessions[number]
            if number not in open_in:
                open_in[number] = len(self.begun)
                self.begun[open_in[number]] = step
            if self.chance.random() < 0.7:
                self.change(session, open_in[number])
            else:
                transaction = open_in.pop(number)
                self.end(session, transaction, step)
                left[number] -= 1
                if not left[number]:
                    del left[number]
            if self.chance.random() < 0.4:
                between()
        pytest.fail("The sessions did not end.")

    def change(self, session: Writer, transaction: int) -> None:
        """Make changes, some of which are rolled back to a savepoint."""
        user, is_kept, count = self.chance.choice(self.users), self.chance.random() < 0.7, self.chance.randint(1, 3)
        records = self.chance.random() < 0.7
        session.execute("SAVEPOINT here")
        if records:
            session.record(user, count, time_of(transaction))
        else:
            session.publish(user, time_of(transaction))
        if not is_kept:
            session.execute("ROLLBACK TO SAVEPOINT here")
        elif records:
            self.recorded[transaction][user] += count
        else:
            self.published[transaction][user] += 1

    def events(self) -> Counter[Fact]:
        """The events that the committed transactions report."""
        found: Counter[Fact] = Counter()
        for transaction in self.committed:
            found.update(Fact(RECORDED, user, transaction, count) for user, count in self.recorded[transaction].items())
            for user, count in self.published[transaction].items():
                found[Fact(PUBLISHED, user, transaction, None)] = count
        return found

    def end(self, session: Writer, transaction: int, step: int) -> None:
        if self.chance.random() < 0.2:
            session.rollback()
        else:
            session.commit()
            self.committed[transaction] = step


@pytest.mark.parametrize("seed", range(8))
def test_random_transactions_are_in_the_feed_once_and_serial_ones_in_their_order(
    seed: int, writers: Callable[[], Writer], follower: Follower, users: list[UUID], monkeypatch: pytest.MonkeyPatch
) -> None:
    chance = random.Random(seed)
    history, relays = History(chance, users), [Relay(), Relay()]
    follower.limit = 3

    def between() -> None:
        monkeypatch.setattr(relay, "BATCH", chance.randint(1, 6))
        chance.choice(relays).assign_positions()
        follower.poll()

    history.run([writers() for _ in range(6)], between)
    place_events()
    while follower.poll():
        pass

    facts = [fact_of(event) for event in follower.seen]
    assert Counter(facts) == history.events()
    for user in users:
        transactions = [fact.transaction for fact in facts if fact.user == user]
        for earlier, later in combinations(transactions, 2):
            assert not history.committed[later] < history.begun[earlier]
    assert EventFeed.objects.get(partner_id=follower.partner_id).last_position == len(facts)


def test_serial_transactions_of_a_user_keep_their_order(
    writers: Callable[[], Writer], committed_partner: Partner, users: list[UUID], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(relay, "BATCH", 2)
    sessions = [writers() for _ in range(4)]
    for number in range(1, 25):
        # In turn, next to others whose transactions stay open for a while.
        sessions[3].record(users[1 + number % 4])
        if number % 7 == 0:
            sessions[3].commit()
        session = sessions[number % 3]
        session.record(users[0], number)
        session.commit()
        if number % 5 == 0:
            Relay().assign_positions()
    place_events()

    assert [count for user, _, count in feed(committed_partner) if user == users[0]] == list(range(1, 25))


def test_decisions_on_a_user_keep_their_order_when_a_transaction_of_the_later_one_began_first(
    writers: Callable[[], Writer], committed_partner: Partner, users: list[UUID], monkeypatch: pytest.MonkeyPatch
) -> None:
    staff = factories.StaffFactory.create().pk
    earlier, later = writers(), writers()
    later.record(users[1])
    earlier.decide(users[0], Status.ACTIVE, staff)
    earlier.commit()
    later.decide(users[0], Status.SUSPENDED, staff)
    later.record(users[1])
    later.commit()
    monkeypatch.setattr(relay, "BATCH", 1)
    place_events()

    assert feed(committed_partner) == [
        (users[1], RECORDED, 2),
        (users[0], DECIDED, Status.ACTIVE),
        (users[0], DECIDED, Status.SUSPENDED),
    ]


# Several relays


def test_while_one_relay_is_at_a_feed_another_places_nothing_in_it(
    reader: psycopg.Connection[Any], committed_partner: Partner, users: list[UUID], writers: Callable[[], Writer]
) -> None:
    writer, other = writers(), Relay()
    writer.record(users[0])
    writer.commit()
    with reader.transaction():
        reader.execute("SELECT pg_advisory_xact_lock(2, hashint8(%s))", [committed_partner.pk])
        assert other.assign_positions() == 0
    writer.record(users[1])
    writer.commit()

    assert other.assign_positions() == 2
    assert EventFeed.objects.get(partner=committed_partner).last_position == 2


def test_an_import_of_one_partner_delays_no_other(
    writers: Callable[[], Writer], committed_partner: Partner, users: list[UUID], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(relay, "BATCH", 4)
    other = factories.UserFactory.create()
    writer = writers()
    for _ in range(10):
        writer.record(users[0], 3)
        writer.commit()
    writer.record(other.pk)
    writer.commit()
    Relay().assign_positions()

    assert Event.objects.filter(partner_id=other.partner_id).count() == 1
    assert Event.objects.filter(partner=committed_partner).count() == 2


def test_an_event_does_not_wait_for_a_feed_that_another_relay_is_at(
    writers: Callable[[], Writer], reader: psycopg.Connection[Any], committed_partner: Partner, users: list[UUID]
) -> None:
    other, writer = factories.UserFactory.create(), writers()
    for user in (users[0], other.pk):
        writer.record(user)
        writer.commit()
    with reader.transaction():
        reader.execute("SELECT pg_advisory_xact_lock(2, hashint8(%s))", [committed_partner.pk])
        assert Relay().assign_positions() == 1
    assert Event.objects.filter(partner_id=other.partner_id).count() == 1


# Restored dumps


def test_equal_transaction_ids_of_two_clusters_are_two_transactions(
    writers: Callable[[], Writer], committed_partner: Partner, users: list[UUID]
) -> None:
    writer = writers()
    writer.record(users[0], 2)
    writer.commit()
    writer.record(users[0], 3)
    writer.commit()
    with connections[serving_role.OWNER].cursor() as owner:
        owner.execute("UPDATE events_outboxentry SET transaction_id = 1000")
        assert owner.rowcount == 2
    connections[serving_role.OWNER].close()
    place_events()

    assert feed(committed_partner) == [(users[0], RECORDED, 2), (users[0], RECORDED, 3)]
