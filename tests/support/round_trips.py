"""Counts how often a connection sends something and waits for the answer, by libpq's own trace of the protocol."""

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
    """What went between this thread's connection and PostgreSQL, known when the block has ended.

    count: how many round trips. sent: the types of the messages that were sent, such as `Parse` and `Bind`.
    """

    count: int = 0
    sent: tuple[str, ...] = ()


@contextmanager
def round_trips() -> Iterator[RoundTrips]:
    """Counts those of this thread's connection while the block runs."""
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
    # F is what the frontend sends, B what the backend answers.
    by_sender = [list(group) for _, group in groupby(messages, key=lambda message: message[0])]
    counted.count = sum(group[0][0] == "F" for group in by_sender)
    counted.sent = tuple(message[2].strip() for message in messages if message[0] == "F")
