"""Actions that begin together, each in a thread and a database session of its own, and sessions that wait."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any, TypeVar

from django.db import connection

from core.database import statements
from core.refusals import RefusedError
from tests.support.timeouts import WAIT_SECONDS
from tests.support.watched import wait_until

T = TypeVar("T")


def at_once(count: int, act: Callable[[int], T]) -> list[T]:
    """Return the results of the threads, by their numbers."""
    barrier = Barrier(count)

    def run(number: int) -> T:
        try:
            barrier.wait(WAIT_SECONDS)
            return act(number)
        finally:
            connection.close()

    with ThreadPoolExecutor(count) as pool:
        return list(pool.map(run, range(count)))


def tried_at_once(*actions: Callable[[], Any]) -> list[Any]:
    """Return what each gives, or the refusal that it raised."""

    def attempt(number: int) -> Any:
        try:
            return actions[number]()
        except RefusedError as refusal:
            return refusal

    return at_once(len(actions), attempt)


_WAITING = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"


def wait_for_sessions(count: int) -> None:
    """Wait until so many sessions of this database wait for a lock; also within a transaction."""

    def wait() -> bool:
        # A transaction sees one snapshot of all sessions.
        statements.fetch_all("SELECT pg_stat_clear_snapshot()", ())
        return statements.fetch_all(_WAITING, ()) == [(count,)]

    wait_until(wait)
