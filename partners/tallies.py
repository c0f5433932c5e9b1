"""How many requests of what kind there were, by key and hour: what support asks about first.

A request costs a count in this process's memory and no statement. What has been counted is written every
FLUSH_SECONDS, so that counts of a process that is then idle arrive too, and when the process stops. One
that is killed loses at most that much. Nothing of a request is kept but how it was answered, with which
key, and by how much the sender's clock differed.
"""

import math
import threading
import time
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

import structlog
from django.db import DatabaseError, InterfaceError, InternalError, OperationalError, connection, transaction

from partners import sql

log = structlog.get_logger("partners.tallies")

FLUSH_SECONDS = 10.0
# Beyond these, senders are not told apart: the memory must not fill.
MOST_COUNTERS = 10_000
# The same for keys that were sent and proved nothing. Whoever makes them up takes no room from the others.
MOST_UNPROVEN = 1_000

DAY = timedelta(hours=24)
WEEK = timedelta(days=7)

HOUR_SECONDS = 3600
# Below this, in seconds, a difference of clocks is told to the tenth; above, to two digits.
FINE_BELOW = 10


class Seen(NamedTuple):
    """What is kept of a request. Those that are alike are one counter."""

    # Since the epoch.
    hour: int
    # The id of the key that signed it, or the SHA-256 of the one that was sent and proved nothing.
    sender: int | bytes | None
    status: int
    replayed: bool = False
    # Of a 401, else empty.
    cause: str = ""
    # The sender's clock less ours; None where it is not known.
    skew_tenths: int | None = None


class _Key(NamedTuple):
    partner_id: int | None
    key_id: int | None


_NOBODY = _Key(None, None)


@dataclass(slots=True)
class _Pending:
    """What this process has counted and not written."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    counted: dict[Seen, int] = field(default_factory=dict)
    unproven: int = 0
    has_writer: bool = False

    def add(self, seen: Seen, count: int = 1) -> None:
        with self.lock:
            so_far = self.counted.get(seen)
            if so_far is None:
                seen = self._new(seen)
                so_far = self.counted.get(seen, 0)
            self.counted[seen] = so_far + count
            if not self.has_writer:
                self.has_writer = _start_writer()

    def take(self) -> dict[Seen, int]:
        with self.lock:
            taken, self.counted = self.counted, {}
            self.unproven = 0
            self.has_writer = False
        return taken

    def _new(self, seen: Seen) -> Seen:
        is_unproven = isinstance(seen.sender, bytes)
        if len(self.counted) >= MOST_COUNTERS or (is_unproven and self.unproven >= MOST_UNPROVEN):
            return seen._replace(sender=None, skew_tenths=None)
        self.unproven += is_unproven
        return seen


def _start_writer() -> bool:
    if not threading.main_thread().is_alive():
        return False
    # The process waits for it when it stops, whoever counted first.
    writer = threading.Thread(target=_write_in_a_while, name="tallies", daemon=False)
    try:
        writer.start()
    except RuntimeError:
        # There is no thread to be had: the next request tries again, and this one is answered all the same.
        log.warning("counts of requests wait: no thread to write them")
        return False
    return True


def _write_in_a_while() -> None:
    # A process that stops has its main thread end first, and then waits for this one.
    threading.main_thread().join(FLUSH_SECONDS)
    _flush_on_time()
    if not threading.main_thread().is_alive() and _pending.take():
        # Whoever waited for a database that is away would keep the process from stopping.
        log.warning("counts of requests are lost: the process stops")


_pending = _Pending()


def present_hour() -> int:
    """The hour it is, since the epoch: what `Seen` has."""
    return int(time.time()) // HOUR_SECONDS


def tenths(seconds: float) -> int:
    """A difference of clocks in tenths of a second, above FINE_BELOW to two digits: there are few of them, so that
    requests which differ alike are one counter.
    """
    if abs(seconds) < FINE_BELOW:
        return round(seconds * 10)
    return int(round(seconds, 1 - int(math.log10(abs(seconds))))) * 10


def add(seen: Seen) -> None:
    """Counts one request. It costs no statement and never fails."""
    _pending.add(seen)


def first_hour(period: timedelta) -> datetime:
    """The hour in which the last `period` began. Hours are counted whole: what is told of it begins there."""
    return (datetime.now(UTC) - period).replace(minute=0, second=0, microsecond=0)


_KEYS = "SELECT id, digest, partner_id FROM partners_apikey WHERE id = ANY(%s::bigint[]) OR digest = ANY(%s::bytea[])"

# Each in one order in every process, and the three in one order: two that write at once wait for each other, and
# never both ways.
_ADD_TROUBLES = """
    INSERT INTO partners_authenticationtrouble AS trouble (hour, partner_id, key_id, cause, count, skew_seconds)
    SELECT to_timestamp(hour * 3600), partner_id, key_id, cause, count, skew_seconds
      FROM unnest(%s::bigint[], %s::bigint[], %s::bigint[], %s::text[], %s::bigint[], %s::bigint[])
           AS counted (hour, partner_id, key_id, cause, count, skew_seconds)
     ORDER BY hour, partner_id, key_id, cause
        ON CONFLICT (hour, partner_id, key_id, cause) DO UPDATE
       SET count = trouble.count + excluded.count,
           skew_seconds = CASE WHEN abs(excluded.skew_seconds) >= abs(coalesce(trouble.skew_seconds, 0))
                               THEN excluded.skew_seconds ELSE trouble.skew_seconds END
"""
_ADD_REQUESTS = """
    INSERT INTO partners_requestcount AS requests (hour, partner_id, key_id, status, replayed, count)
    SELECT to_timestamp(hour * 3600), partner_id, key_id, status, replayed, count
      FROM unnest(%s::bigint[], %s::bigint[], %s::bigint[], %s::smallint[], %s::boolean[], %s::bigint[])
           AS counted (hour, partner_id, key_id, status, replayed, count)
     ORDER BY hour, partner_id, key_id, status, replayed
        ON CONFLICT (partner_id, hour, key_id, status, replayed) DO UPDATE
       SET count = requests.count + excluded.count
"""
_ADD_SKEWS = """
    INSERT INTO partners_clockskew AS skew (hour, partner_id, key_id, skew_tenths, count)
    SELECT to_timestamp(hour * 3600), partner_id, key_id, skew_tenths, count
      FROM unnest(%s::bigint[], %s::bigint[], %s::bigint[], %s::bigint[], %s::bigint[])
           AS counted (hour, partner_id, key_id, skew_tenths, count)
     ORDER BY hour, partner_id, key_id, skew_tenths
        ON CONFLICT (partner_id, hour, key_id, skew_tenths) DO UPDATE
       SET count = skew.count + excluded.count
"""


def flush() -> int:
    """Writes what this process has counted, all of it or none; how many rows that touched.

    Raises Django's database errors. Where the database is away or only reads, the counts go with the next; a
    connection lost in the midst of the commit may have them counted twice.
    """
    taken = _pending.take()
    if not taken:
        return 0
    try:
        with transaction.atomic():
            return _write(taken)
    except (OperationalError, InterfaceError, InternalError):
        for seen, count in taken.items():
            _pending.add(seen, count)
        raise


def _flush_on_time() -> None:
    # A thread of its own, with a connection of its own.
    try:
        flush()
    except (DatabaseError, InterfaceError):
        log.warning("counts of requests could not be written", exc_info=True)
    finally:
        connection.close()


def _write(taken: Mapping[Seen, int]) -> int:
    keys = _keys_of({seen.sender for seen in taken})
    troubles: Counter[tuple[object, ...]] = Counter()
    widest: dict[tuple[object, ...], int] = {}
    requests: Counter[tuple[object, ...]] = Counter()
    skews: Counter[tuple[object, ...]] = Counter()
    for seen, count in taken.items():
        key = keys.get(seen.sender, _NOBODY)
        if seen.cause:
            what = (seen.hour, *key, seen.cause)
            troubles[what] += count
            if seen.skew_tenths is not None:
                widest[what] = max(widest.get(what, 0), round(seen.skew_tenths / 10), key=abs)
        elif key.key_id is not None:
            requests[seen.hour, *key, seen.status, seen.replayed] += count
        if seen.skew_tenths is not None and key.key_id is not None:
            skews[seen.hour, *key, seen.skew_tenths] += count
    return (
        _add(_ADD_TROUBLES, [(*what, count, widest.get(what)) for what, count in troubles.items()])
        + _add(_ADD_REQUESTS, [(*what, count) for what, count in requests.items()])
        + _add(_ADD_SKEWS, [(*what, count) for what, count in skews.items()])
    )


def _keys_of(senders: Iterable[int | bytes | None]) -> dict[int | bytes | None, _Key]:
    """Whose key each sender's is; nobody's is left out."""
    known = list(senders)
    ids = [sender for sender in known if isinstance(sender, int)]
    digests = [sender for sender in known if isinstance(sender, bytes)]
    found: dict[int | bytes | None, _Key] = {}
    for key_id, digest, partner_id in sql.fetch_all(_KEYS, (ids, digests)) if ids or digests else ():
        found[key_id] = found[bytes(digest)] = _Key(partner_id, key_id)
    return found


def _add(statement: str, rows: list[tuple[object, ...]]) -> int:
    return sql.run(statement, [list(column) for column in zip(*rows, strict=True)]) if rows else 0
