"""Actions that begin together, each in a thread and a database session of its own."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any, TypeVar

from django.db import connection

from core.refusals import RefusedError
from tests.support.timeouts import WAIT_SECONDS

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
