"""With a replica, an event is in the feed when the replica has what it reports: contract, section 10."""

import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from uuid import UUID

import psycopg
import pytest

from config.embedded.server import SERVICE_ROLE
from partners.events.relay import REPLICA_SECONDS
from tests.resilience.delivering import delivering
from tests.resilience.replica_pair import Database, following, issue_key
from tests.support.watched import wait_until
from tests.support.writers import Follower, Writer, add_users
from transactions import replica


@dataclass(frozen=True)
class Feed:
    """A primary, its standby, a writer, and a reader of the feed."""

    primary: Database
    standby: Database
    writer: Writer
    follower: Follower
    user: UUID

    def change(self) -> float:
        """Commit a change; return when that began (monotonic seconds)."""
        self.writer.record(self.user)
        begun = time.monotonic()
        self.writer.commit()
        return begun

    def has(self, count: int) -> bool:
        """Whether so many events have been read."""
        self.follower.poll()
        return len(self.follower.seen) >= count

    def rows_on_standby(self) -> int:
        [(count,)] = self.standby.execute("SELECT count(*) FROM transactions_conversion")
        return int(count)


@pytest.fixture(scope="module")
def feed() -> Iterator[Feed]:
    # Not pytest's folder: another run of pytest closes it to other accounts, the clusters' among them.
    with TemporaryDirectory() as folder, following(Path(folder)) as (primary, standby):
        issue_key(primary)
        url = primary.url(SERVICE_ROLE)
        [(partner_id,)] = primary.execute("SELECT id FROM partners_partner")
        with (
            closing(Writer(url)) as writer,
            psycopg.connect(url, autocommit=True) as connection,
            delivering(Path(folder) / "log", DATABASE_URL=url, REPLICA_DATABASE_URL=standby.url(SERVICE_ROLE)),
        ):
            feed = Feed(primary, standby, writer, Follower(connection, partner_id), add_users(url, "acme", 1)[0])
            feed.change()
            wait_until(lambda: feed.has(1))
            yield feed


def test_the_replica_has_what_an_event_reports(feed: Feed) -> None:
    for _ in range(20):
        count = len(feed.follower.seen) + 1
        committed_at = feed.change()
        wait_until(lambda count=count: feed.has(count))  # type: ignore[misc]
        appeared_at = time.monotonic()
        assert feed.rows_on_standby() >= count or appeared_at - committed_at > REPLICA_SECONDS


def test_an_event_waits_for_a_replica_that_lags_until_lists_do_not_use_it(feed: Feed) -> None:
    count = len(feed.follower.seen) + 1
    with feed.standby.replay_paused():
        committed_at = feed.change()
        wait_until(lambda: feed.has(count))
        assert time.monotonic() - committed_at > REPLICA_SECONDS
        assert feed.rows_on_standby() < count


def test_an_event_that_waited_appears_when_the_replica_goes_on(feed: Feed) -> None:
    count = len(feed.follower.seen) + 1
    with feed.standby.replay_paused():
        feed.change()
        # A change that another session has made meanwhile waits as well.
        feed.change()
    wait_until(lambda: feed.has(count + 1))
    assert feed.rows_on_standby() >= count + 1


def test_an_unreachable_replica_does_not_stop_the_feed(feed: Feed) -> None:
    count = len(feed.follower.seen) + 1
    feed.standby.halt()
    try:
        for number in range(3):
            feed.change()
            wait_until(lambda number=number: feed.has(count + number))  # type: ignore[misc]
    finally:
        feed.standby.ensure_running()
    feed.change()
    wait_until(lambda: feed.has(count + 3))


def test_the_wait_is_as_long_as_lists_use_a_replica_that_lags() -> None:
    assert REPLICA_SECONDS >= 3 * replica.CHECK_SECONDS
