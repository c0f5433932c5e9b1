"""Changes that partners are told of: sessions that commit them, and a partner's program that follows the feed."""

import random
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from http.client import HTTPException
from itertools import count
from typing import Any
from uuid import UUID

import psycopg

from tests.factories import NOON
from tests.support.client import PartnerClient
from tests.support.writers import Writer

WRITERS = 4
PAUSE_SECONDS = 0.2

# The type of its event, the user, and what tells it from others of the user: its time or the new status.
Change = tuple[str, str, datetime | str]
_COMMITTED = """
    SELECT DISTINCT 'user.transactionsRecorded', user_id::text, created_at FROM transactions_conversion
     UNION ALL SELECT 'user.documentPublished', user_id::text, created_at FROM transactions_document
"""
_DECIDED = "SELECT 'user.statusChanged', user_id::text, to_status FROM users_statuschange"


@dataclass
class Changes:
    """Sessions that commit changes, each at a time of its own. answered: those whose COMMIT was answered."""

    url: str
    users: list[UUID]
    staff: int
    answered: list[Change] = field(default_factory=list)
    _ended: threading.Event = field(default_factory=threading.Event)
    _numbers: "count[int]" = field(default_factory=count)

    @contextmanager
    def running(self) -> Iterator[None]:
        """Commit during the block."""
        threads = [threading.Thread(target=self._run) for _ in range(WRITERS)]
        for thread in threads:
            thread.start()
        try:
            yield
        finally:
            self._ended.set()
            for thread in threads:
                thread.join()

    def committed(self) -> Counter[Change]:
        """Return all that the database has."""
        with psycopg.connect(self.url) as connection:
            rows: list[Change] = [*connection.execute(_COMMITTED), *connection.execute(_DECIDED)]
        return Counter(rows)

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
        self.answered.append(change)


@dataclass
class Reader:
    """A partner's program that follows the feed, whatever fails meanwhile."""

    api: Callable[[], PartnerClient]
    items: list[dict[str, Any]] = field(default_factory=list)
    cursor: str = ""

    def read(self) -> bool:
        """Read a page; return whether it was the end of the feed."""
        with suppress(OSError, HTTPException):
            response = self.api().get("/v1/events?limit=100" + (f"&cursor={self.cursor}" if self.cursor else ""))
            if response.status != 503:
                assert response.status == 200, response.body
                page = response.json()
                self.items += page["items"]
                self.cursor = page["nextCursor"]
                return not page["hasMore"]
        return False

    def has_read(self, number: int) -> bool:
        """Read on; return whether so many events have been read."""
        self.read()
        return len(self.items) >= number

    def changes(self) -> Counter[Change]:
        """Return what the events that were read tell."""
        return Counter(_change(item["type"], item["data"]) for item in self.items)


def _change(kind: str, data: dict[str, Any]) -> Change:
    if kind == "user.statusChanged":
        return kind, data["userId"], data["status"]
    return kind, data["userId"], datetime.fromisoformat(data.get("createdAt") or data["oldestCreatedAt"])
