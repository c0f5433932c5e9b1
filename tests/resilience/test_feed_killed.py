"""Service, deliverers and PostgreSQL are killed at random under writes: no event is lost, none is in the feed twice."""

import os
import random
import signal
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from http.client import HTTPException
from itertools import count
from pathlib import Path
from typing import Any
from uuid import UUID

import psutil
import psycopg

from tests.factories import NOON
from tests.resilience.cluster import Cluster, own_cluster
from tests.resilience.delivering import start_delivering
from tests.slow.live.conftest import Server, launch
from tests.support import drift
from tests.support.receiver import Authority, Receiver
from tests.support.watched import wait_until
from tests.support.writers import Writer, add_users

# FEED_KILLS=60 for the long run.
KILLS = int(os.environ.get("FEED_KILLS", "6"))
WRITERS = 4
PAUSE_SECONDS = 0.2
# On a busy machine an attempt may take longer than it may: the next ones follow after 5 s and 5 minutes.
RETRY_SECONDS = 900.0

# The type of its event, the user, and what tells it from others of the user: its time or the new status.
Change = tuple[str, str, datetime | str]
_COMMITTED = """
    SELECT DISTINCT 'user.transactionsRecorded', user_id::text, created_at FROM transactions_conversion
     UNION ALL SELECT 'user.documentPublished', user_id::text, created_at FROM transactions_document
"""
_DECIDED = "SELECT 'user.statusChanged', user_id::text, to_status FROM users_statuschange"


@dataclass
class Load:
    """Sessions that commit changes, each at a time of its own. committed: those whose COMMIT was answered."""

    url: str
    users: list[UUID]
    staff: int
    committed: list[Change] = field(default_factory=list)
    _ended: threading.Event = field(default_factory=threading.Event)
    _numbers: "count[int]" = field(default_factory=count)

    @contextmanager
    def running(self) -> Iterator[None]:
        threads = [threading.Thread(target=self._run) for _ in range(WRITERS)]
        for thread in threads:
            thread.start()
        try:
            yield
        finally:
            self._ended.set()
            for thread in threads:
                thread.join()

    def _run(self) -> None:
        while not self._ended.is_set():
            # While the database is away.
            with suppress(psycopg.Error):
                writer = Writer(self.url)
                while not self._ended.wait(PAUSE_SECONDS):
                    self._write(writer)
                writer.close()
            self._ended.wait(PAUSE_SECONDS)

    def _write(self, writer: Writer) -> None:
        at, user = NOON + timedelta(seconds=next(self._numbers)), random.choice(self.users)
        kind = random.choice(["user.documentPublished", "user.transactionsRecorded", "user.statusChanged"])
        change: Change = (kind, str(user), at)
        if kind == "user.documentPublished":
            writer.publish(user, at)
        elif kind == "user.transactionsRecorded":
            writer.record(user, random.randint(1, 3), at)
            writer.record(user, 1, at)
        else:
            status = "suspended" if writer.locked_status(user) == "active" else "active"
            writer.decide(user, status, self.staff)
            change = (kind, str(user), status)
        writer.commit()
        self.committed.append(change)


@dataclass
class Machine:
    """The processes, and how to kill and start them."""

    cluster: Cluster
    environment: dict[str, str]
    log: Path
    kills: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self.service: Server = self._serve()
        self.deliverers = [self._deliver() for _ in range(2)]

    def kill_one(self) -> None:
        """Kill something at random, and start it again."""
        kind = random.choice(["service", "deliver_events", "PostgreSQL"])
        self.kills[kind] += 1
        if kind == "service":
            _kill(self.service.process.pid)
            self.service.process.wait()
            self.service = self._serve()
        elif kind == "deliver_events":
            # Neither has ended by itself.
            assert [process.poll() for process in self.deliverers] == [None, None]
            killed = self.deliverers.pop(random.randrange(2))
            killed.kill()
            killed.wait()
            self.deliverers.append(self._deliver())
        else:
            self.cluster.kill()
            self.cluster.start()

    def stop(self) -> None:
        _kill(self.service.process.pid)
        self.service.process.wait()
        for process in self.deliverers:
            process.send_signal(signal.SIGKILL)
            process.wait()

    def _serve(self) -> Server:
        return launch(DATABASE_URL=self.cluster.url)

    def _deliver(self) -> Any:
        return start_delivering(self.log, DATABASE_URL=self.cluster.url, **self.environment)


def _kill(pid: int) -> None:
    """Kill a process and its children at once."""
    master = psutil.Process(pid)
    for process in [master, *master.children(recursive=True)]:
        with suppress(psutil.NoSuchProcess):
            process.kill()


@dataclass
class Reader:
    """A partner's program that follows the feed, whatever fails meanwhile."""

    machine: Machine
    items: list[dict[str, Any]] = field(default_factory=list)
    cursor: str = ""

    def read(self) -> bool:
        """Read a page; return whether it was the end of the feed."""
        api = self.machine.cluster.client(self.machine.service.transport)
        response = api.get("/v1/events?limit=50" + (f"&cursor={self.cursor}" if self.cursor else ""))
        if response.status == 503:
            return False
        assert response.status == 200, response.body
        page = response.json()
        self.items += page["items"]
        self.cursor = page["nextCursor"]
        return not page["hasMore"]

    def has_read(self, number: int) -> bool:
        """Read on; return whether so many events have been read."""
        with suppress(OSError, HTTPException):
            self.read()
        return len(self.items) >= number


def change_of(item: dict[str, Any]) -> Change:
    data = item["data"]
    if item["type"] == "user.statusChanged":
        return item["type"], data["userId"], data["status"]
    return item["type"], data["userId"], datetime.fromisoformat(data.get("createdAt") or data["oldestCreatedAt"])


def add_staff(cluster: Cluster) -> int:
    cluster.manage("create_staff", "rachel", "--email", "rachel@example.com", "--role", "reviewer")
    with psycopg.connect(cluster.url) as connection:
        [(staff,)] = connection.execute("SELECT id FROM staff_staff WHERE username = 'rachel'").fetchall()
    return int(staff)


def add_webhook(cluster: Cluster, receiver: Receiver, environment: dict[str, str]) -> None:
    cluster.manage("add_webhook", "acme", receiver.url, "--json", **environment)


def has_nothing_left(cluster: Cluster) -> bool:
    with psycopg.connect(cluster.url) as connection:
        return connection.execute("SELECT FROM events_outboxentry").fetchone() is None


def pending(cluster: Cluster) -> list[tuple[Any, ...]]:
    """The deliveries that are not made, with their attempts."""
    with psycopg.connect(cluster.url) as connection:
        return connection.execute(
            "SELECT position, state, attempts, next_attempt_at, leased_until FROM events_webhookdelivery"
            " WHERE state <> 'delivered' ORDER BY position LIMIT 20"
        ).fetchall()


def test_what_was_committed_is_in_the_feed_once_and_delivered(tmp_path: Path) -> None:
    authority = Authority.create(tmp_path)
    environment = {"DEBUG": "true", "WEBHOOK_ALLOW_LOOPBACK": "true", "WEBHOOK_CA_BUNDLE": str(authority.bundle)}
    with own_cluster() as cluster, authority.receiver() as receiver, ExitStack() as at_end:
        add_webhook(cluster, receiver, environment)
        load = Load(cluster.url, add_users(cluster.url, "acme", 10), add_staff(cluster))
        machine = Machine(cluster, environment, tmp_path / "log")
        at_end.callback(machine.stop)
        reader = Reader(machine)
        with load.running():
            for _ in range(KILLS):
                # Anywhere in the processes' work; what is being done again may be killed as well.
                wait_until(partial(reader.has_read, len(reader.items) + random.randint(1, 20)))
                machine.kill_one()
        wait_until(partial(has_nothing_left, cluster))
        wait_until(reader.read)
        while not reader.read():
            pass
        in_feed = Counter(item["eventId"] for item in reader.items)
        try:
            wait_until(lambda: in_feed.keys() <= set(receiver.events()), seconds=RETRY_SECONDS)
        finally:
            print(f"pending: {pending(cluster)}")  # noqa: T201 - shown where the test fails
        with psycopg.connect(cluster.url) as connection:
            committed: list[Change] = [*connection.execute(_COMMITTED), *connection.execute(_DECIDED)]
    received = Counter(receiver.events())
    print(  # noqa: T201 - figures of a long run, shown with -s
        f"kills {dict(machine.kills)}; changes {len(committed)}, events {len(in_feed)}, received"
        f" {received.total()}, more than once {sum(number > 1 for number in received.values())}"
    )
    assert Counter(load.committed) <= Counter(committed)
    assert Counter(change_of(item) for item in reader.items) == Counter(committed)
    assert set(in_feed.values()) == {1}
    assert received.keys() == in_feed.keys()
    for request in receiver.requests:
        drift.check_event(request.body)
