"""Counts the round trips of a connection, by libpq's trace of the protocol."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import groupby
from tempfile import TemporaryFile
from typing import Any

from django.db import connection
from psycopg.pq import Trace


@dataclass
class RoundTrips:
    """The messages of this thread's connection, known after the block.

    count: round trips. sent: types of the messages sent, such as `Parse` and `Bind`.
    """

    count: int = 0
    sent: tuple[str, ...] = ()


@contextmanager
def round_trips() -> Iterator[RoundTrips]:
    """Count the round trips of this thread's connection during the block."""
    connection.ensure_connection()
    driver: Any = connection.connection
    counted = RoundTrips()
    with TemporaryFile() as trace:
        driver.pgconn.trace(trace.fileno())
        driver.pgconn.set_trace_flags(Trace.SUPPRESS_TIMESTAMPS)
        try:
            yield counted
        finally:
            driver.pgconn.untrace()
        trace.seek(0)
        messages = [line.split("\t") for line in trace.read().decode(errors="replace").splitlines()]
    # F: from the frontend, B: from the backend.
    by_sender = [list(group) for _, group in groupby(messages, key=lambda message: message[0])]
    counted.count = sum(group[0][0] == "F" for group in by_sender)
    counted.sent = tuple(message[2].strip() for message in messages if message[0] == "F")
