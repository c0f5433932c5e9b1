"""Why requests were refused as `unauthorized`, counted by partner and key: the first question of a support call.

The partner is told one and the same text (contract, section 3), so support has to be able to look the
cause up. A refusal costs a count in this process's memory and no statement. A timer writes what has been
counted every FLUSH_SECONDS, so that counts of a process that is then idle arrive too; a process that dies
loses at most that much. Nothing of a request is kept but the cause, the key and, of clocks, the difference.
"""

import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

import structlog
from django.db import DatabaseError, InterfaceError, OperationalError, connection, models
from django.utils.translation import gettext_lazy as _

from partners import keys, sql

log = structlog.get_logger("partners.troubles")

FLUSH_SECONDS = 10.0
# Whoever sends keys at random must not fill the memory: beyond these, keys are not told apart.
MOST_COUNTERS = 1_000


class Cause(models.TextChoices):
    """Why a request is `unauthorized`. The values are those in the log."""

    MISSING_HEADER = "missing header", _("Header missing")
    MALFORMED_TIMESTAMP = "malformed timestamp", _("Malformed timestamp")
    CLOCK_SKEW = "clock skew", _("Clock differs")
    UNKNOWN_KEY = "unknown key", _("Unknown key")
    BAD_SIGNATURE = "bad signature", _("Wrong signature")
    NOT_IN_FORCE = "key not in force or partner disabled", _("Key or partner not in force")
    REPLAY = "replay", _("Sent again")


class _What(NamedTuple):
    hour: datetime
    # SHA-256 of the key; None where there was none, or too many.
    digest: bytes | None
    cause: str


@dataclass(slots=True)
class _Counted:
    count: int = 0
    skew_seconds: int | None = None

    def add(self, count: int, skew_seconds: int | None) -> None:
        self.count += count
        if skew_seconds is not None and abs(skew_seconds) >= abs(self.skew_seconds or 0):
            self.skew_seconds = skew_seconds


@dataclass(slots=True)
class _Pending:
    """What this process has counted and not written."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    counted: dict[_What, _Counted] = field(default_factory=dict)
    timer: threading.Timer | None = None

    def add(self, what: _What, count: int, skew_seconds: int | None) -> None:
        with self.lock:
            if what not in self.counted and len(self.counted) >= MOST_COUNTERS:
                what = what._replace(digest=None)
            self.counted.setdefault(what, _Counted()).add(count, skew_seconds)
            if self.timer is None:
                self.timer = _start_timer()

    def take(self) -> dict[_What, _Counted]:
        with self.lock:
            taken, self.counted = self.counted, {}
            if self.timer is not None:
                self.timer.cancel()
                self.timer = None
        return taken


def _start_timer() -> threading.Timer:
    timer = threading.Timer(FLUSH_SECONDS, _flush_on_time)
    timer.daemon = True
    timer.start()
    return timer


_pending = _Pending()


def count(cause: Cause, api_key: str | None, *, skew_seconds: int | None = None) -> None:
    """Counts one refusal. api_key: as it was sent; whose it is is asked only when counts are written."""
    hour = datetime.now(UTC).replace(minute=0, second=0, microsecond=0)
    digest = keys.digest(api_key) if api_key else None
    _pending.add(_What(hour, digest, cause.value), 1, skew_seconds)


# In one order in every process, so that two of them wait for each other and never both ways.
_ADD = """
    INSERT INTO partners_authenticationtrouble AS trouble (hour, partner_id, key_id, cause, count, skew_seconds)
    SELECT counted.hour, key.partner_id, key.id, counted.cause, sum(counted.count),
           (array_agg(counted.skew ORDER BY abs(counted.skew) DESC NULLS LAST))[1]
      FROM unnest(%s::timestamptz[], %s::bytea[], %s::text[], %s::bigint[], %s::bigint[])
           AS counted (hour, digest, cause, count, skew)
      LEFT JOIN partners_apikey key ON key.digest = counted.digest
     GROUP BY counted.hour, key.partner_id, key.id, counted.cause
     ORDER BY counted.hour, key.partner_id, key.id, counted.cause
        ON CONFLICT (hour, partner_id, key_id, cause) DO UPDATE
       SET count = trouble.count + excluded.count,
           skew_seconds = CASE WHEN abs(excluded.skew_seconds) >= abs(coalesce(trouble.skew_seconds, 0))
                               THEN excluded.skew_seconds ELSE trouble.skew_seconds END
"""


def flush() -> int:
    """Writes what this process has counted; how many rows that touched. Raises Django's database errors."""
    taken = _pending.take()
    if not taken:
        return 0
    columns = list(zip(*((*what, one.count, one.skew_seconds) for what, one in taken.items()), strict=True))
    try:
        return sql.run(_ADD, [list(column) for column in columns])
    except (OperationalError, InterfaceError):
        # The database is away: they go with the next.
        for what, one in taken.items():
            _pending.add(what, one.count, one.skew_seconds)
        raise


def _flush_on_time() -> None:
    # A thread of its own, with a connection of its own.
    try:
        flush()
    except (DatabaseError, InterfaceError):
        log.warning("counts of refusals could not be written", exc_info=True)
    finally:
        connection.close()


class Trouble(NamedTuple):
    """How often a cause was met with a key within the time asked for. prefix: empty where the key is not known."""

    cause: Cause
    prefix: str
    key_id: int | None
    requests: int
    skew_seconds: int | None
    latest_hour: datetime


PERIOD = timedelta(hours=24)

_OF_PARTNER = """
    SELECT trouble.cause, coalesce(key.prefix, ''), trouble.key_id, sum(trouble.count)::bigint,
           (array_agg(trouble.skew_seconds ORDER BY abs(trouble.skew_seconds) DESC NULLS LAST))[1], max(trouble.hour)
      FROM partners_authenticationtrouble trouble LEFT JOIN partners_apikey key ON key.id = trouble.key_id
     WHERE trouble.hour > now() - %s::interval AND trouble.partner_id IS NOT DISTINCT FROM %s::bigint
     GROUP BY trouble.cause, key.prefix, trouble.key_id
     ORDER BY 4 DESC, 1, 2
"""


def of_partner(partner_id: int | None) -> Iterator[Trouble]:
    """What requests with this partner's keys were refused for in the last 24 hours, most frequent first.

    None: those whose key is nobody's, or that had none.
    """
    # Whole hours are kept: one more than the period, so that none of it is left out.
    for cause, *rest in sql.fetch_all(_OF_PARTNER, (PERIOD + timedelta(hours=1), partner_id)):
        yield Trouble(Cause(cause), *rest)
