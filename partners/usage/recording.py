"""Counts requests in memory, and adds the counts to partners_apiusage.

A thread writes them FLUSH_SECONDS after the first one, or when the process stops; a killed process loses the rest.
"""

import threading
import time
from dataclasses import dataclass, field
from typing import NamedTuple

import structlog
from django.db import DatabaseError, InterfaceError, InternalError, OperationalError, connection, transaction

from partners.db import statements
from partners.usage import clock_skew
from partners.usage.failures import UNAUTHORIZED, AuthenticationFailure

log = structlog.get_logger("partners.usage")

FLUSH_SECONDS = 10.0
HOUR_SECONDS = 3600
# Above these limits of memory, requests are counted without their key.
MAX_COUNTERS = 10_000
# For unverified keys: a client that invents keys does not displace others.
MAX_UNVERIFIED_COUNTERS = 1_000


class Group(NamedTuple):
    """Requests that share a counter."""

    # Hours since the epoch.
    hour: int
    # Of the API key that was sent; None if it is unknown or the limits are reached.
    key_digest: bytes | None
    # The others as in ApiUsage.
    status: int
    replayed: bool = False
    failure: str = ""
    skew_seconds: int | None = None


@dataclass(slots=True)
class _Counters:
    """The counts of this process that are not written yet."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    counts: dict[Group, int] = field(default_factory=dict)
    unverified: int = 0
    has_writer: bool = False

    def add(self, group: Group, count: int = 1) -> None:
        with self.lock:
            if group not in self.counts:
                group = self._bounded(group)
            self.counts[group] = self.counts.get(group, 0) + count
            if not self.has_writer:
                self.has_writer = _start_writer()

    def take(self) -> dict[Group, int]:
        with self.lock:
            taken, self.counts = self.counts, {}
            self.unverified = 0
            self.has_writer = False
        return taken

    def _bounded(self, group: Group) -> Group:
        is_unverified = bool(group.failure and group.key_digest)
        if len(self.counts) >= MAX_COUNTERS or (is_unverified and self.unverified >= MAX_UNVERIFIED_COUNTERS):
            return group._replace(key_digest=None, skew_seconds=None)
        self.unverified += is_unverified
        return group


_counters = _Counters()


def present_hour() -> int:
    """The present hour, in hours since the epoch."""
    return int(time.time()) // HOUR_SECONDS


def record_answer(key_digest: bytes, status: int, *, replayed: bool, skew_seconds: float) -> None:
    """Count the response to an authenticated request. replayed: whether it is a stored one (contract, section 4)."""
    _counters.add(Group(present_hour(), key_digest, status, replayed, "", clock_skew.rounded(skew_seconds)))


def record_failure(failure: AuthenticationFailure, key_digest: bytes, *, skew_seconds: float | None = None) -> None:
    """Count a request that was answered 401. key_digest: of the empty string without a key. skew_seconds: if known."""
    group = Group(present_hour(), None, UNAUTHORIZED, failure=failure.value)
    # Unknown keys share a counter.
    if failure != AuthenticationFailure.UNKNOWN_KEY:
        skew = None if skew_seconds is None else clock_skew.rounded(skew_seconds)
        group = group._replace(key_digest=key_digest, skew_seconds=skew)
    _counters.add(group)


# Ordered, so that two processes do not deadlock.
_ADD = """
    INSERT INTO partners_apiusage AS usage
           (hour, partner_id, key_id, status, replayed, failure, skew_seconds, count)
    SELECT to_timestamp(counted.hour * 3600), key.partner_id, key.id, counted.status, counted.replayed,
           counted.failure, CASE WHEN key.id IS NOT NULL THEN counted.skew_seconds END, sum(counted.count)
      FROM unnest(%s::bigint[], %s::bytea[], %s::smallint[], %s::boolean[], %s::text[], %s::bigint[], %s::bigint[])
           AS counted (hour, key_digest, status, replayed, failure, skew_seconds, count)
      LEFT JOIN partners_apikey key ON key.digest = counted.key_digest
     GROUP BY 1, 2, 3, 4, 5, 6, 7
     ORDER BY 1, 2, 3, 4, 5, 6, 7
        ON CONFLICT (partner_id, hour, key_id, status, replayed, failure, skew_seconds) DO UPDATE
       SET count = usage.count + excluded.count
"""


def flush() -> int:
    """Write all counts of this process; return the number of rows inserted or updated.

    Raises Django's database errors. Keeps the counts if the database is unreachable or read-only (and may write them
    twice if the connection is lost during the commit); other errors discard them.
    """
    counts = _counters.take()
    if not counts:
        return 0
    try:
        return _write(counts)
    except (OperationalError, InterfaceError, InternalError):
        for group, count in counts.items():
            _counters.add(group, count)
        raise


def _write(counts: dict[Group, int]) -> int:
    columns = zip(*((*group, count) for group, count in counts.items()), strict=True)
    with transaction.atomic():
        return statements.run(_ADD, [list(column) for column in columns])


def _start_writer() -> bool:
    if not threading.main_thread().is_alive():
        return False
    # Not a daemon: a process that stops waits for it.
    writer = threading.Thread(target=_write_later, name="usage", daemon=False)
    try:
        writer.start()
    except RuntimeError:
        # The next request tries again.
        log.warning("usage counters could not be written: no thread")
        return False
    return True


def _write_later() -> None:
    # Returns early when the process stops.
    threading.main_thread().join(FLUSH_SECONDS)
    try:
        flush()
    except (DatabaseError, InterfaceError):
        log.warning("usage counters could not be written", exc_info=True)
    finally:
        connection.close()
    if not threading.main_thread().is_alive() and _counters.take():
        # Waiting for the database would keep the process from stopping.
        log.warning("usage counters lost at exit")
