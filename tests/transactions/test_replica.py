"""When lists may be read from the replica; with a real one: tests/resilience/test_replica.py."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from unittest.mock import Mock

import pytest

from partners.db import statements
from tests.support.timeouts import WAIT_SECONDS
from transactions import replica
from transactions.replica import CHECK_SECONDS, Replica

ROWS: list[Any] = [("row",)]


def test_while_a_check_is_made_after_an_idle_time_no_other_thread_uses_the_replica(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now, checking, answered = 0.0, threading.Event(), threading.Event()

    def fetch_one(statement: str, parameters: object, using: str = "default") -> tuple[object]:
        if now > 100:
            checking.set()
            answered.wait(WAIT_SECONDS)
        return ("0/1",) if using == "default" else (True,)

    monkeypatch.setattr(statements, "fetch_one", fetch_one)
    monkeypatch.setattr(time, "monotonic", lambda: now)
    monkeypatch.setattr(replica, "connections", {replica.ALIAS: Mock()})
    ours = Replica()

    def read() -> list[Any] | None:
        return ours.read(lambda: ROWS)

    now = 1.0
    assert read() is None
    now += CHECK_SECONDS
    assert [read(), read()] == [ROWS, ROWS]
    now += 1000
    with ThreadPoolExecutor(1) as pool:
        other = pool.submit(read)
        assert checking.wait(WAIT_SECONDS)
        assert read() is None
        answered.set()
        assert other.result() is None
