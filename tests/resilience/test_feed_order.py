"""Two hundred writers at once, two processes that place events, and readers: nothing is lost, nothing comes twice."""

import os
import random
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from uuid import UUID

import psycopg
import pytest

from tests.factories import NOON
from tests.resilience.cluster import Cluster, own_cluster
from tests.resilience.delivering import delivering
from tests.support.watched import wait_until
from tests.support.writers import Follower, Writer, add_users

WRITERS = 200
# Each writer makes so many in a run.
TRANSACTIONS = 3
# FEED_RUNS=20 for the long run.
RUNS = int(os.environ.get("FEED_RUNS", "2"))

Change = tuple[UUID, datetime]


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    with own_cluster(max_connections=WRITERS + 50) as cluster:
        yield cluster


@contextmanager
def connected(cluster: Cluster) -> Iterator[list[Writer]]:
    with ExitStack() as opened:
        writers = [Writer(cluster.url) for _ in range(WRITERS)]
        for writer in writers:
            opened.enter_context(closing(writer.connection))
        yield writers


def write(writers: list[Writer], users: list[UUID], begin: datetime) -> list[Change]:
    """Make a change in each session, all of them open at once, and commit them in another order."""
    changes = [(random.choice(users), begin + timedelta(seconds=number)) for number in range(len(writers))]
    with ThreadPoolExecutor(16) as pool:
        list(pool.map(lambda pair: pair[0].record(pair[1][0], 1, pair[1][1]), zip(writers, changes, strict=True)))
        list(pool.map(Writer.commit, random.sample(writers, len(writers))))
    return changes


def changes_of(follower: Follower) -> list[Change]:
    return [(user, datetime.fromisoformat(data["oldestCreatedAt"])) for _, user, data in follower.seen]


def test_a_reader_of_the_feed_gets_each_change_once(cluster: Cluster, tmp_path: Path) -> None:
    users = add_users(cluster.url, "acme", 20)
    begin, written = NOON, list[Change]()
    with (
        connected(cluster) as writers,
        psycopg.connect(cluster.url, autocommit=True) as connection,
        delivering(tmp_path / "one", DATABASE_URL=cluster.url),
        delivering(tmp_path / "other", DATABASE_URL=cluster.url),
        ThreadPoolExecutor(1) as pool,
    ):
        follower = Follower(connection, 1, limit=7)
        for _ in range(RUNS):

            def run() -> None:
                nonlocal begin
                for _ in range(TRANSACTIONS):
                    written.extend(write(writers, users, begin))
                    begin += timedelta(hours=1)

            running = pool.submit(run)
            while not running.done():
                follower.poll()
            running.result()
            wait_until(lambda: not follower.poll() and len(follower.seen) >= len(written))
        [(last, count, entries)] = connection.execute(
            "SELECT last_position, (SELECT count(*) FROM partners_event), (SELECT count(*) FROM partners_outboxentry)"
            "  FROM partners_eventfeed"
        ).fetchall()
    print(f"{RUNS} runs, {len(written)} transactions, {len(follower.seen)} events")  # noqa: T201 - figures of a long run
    assert Counter(changes_of(follower)) == Counter(written)
    assert (last, count, entries) == (len(written), len(written), 0)
