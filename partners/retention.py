"""Removes rows that have served their time."""

from datetime import timedelta

from core.database import statements
from core.models import SANDBOX_DAYS
from partners import request_log
from partners.api import idempotency
from partners.models import KEY_DAYS, KEY_ENDED_AT, KEY_PREFIXES, SANDBOX_KEY_DAYS, Mode

# The largest CLOCK_SKEW_SECONDS that the settings allow, and a margin for differing clocks.
SIGNATURE_WINDOW = timedelta(seconds=3600) + timedelta(hours=1)

# Oldest first, after the last row of the previous batch: its index entries would be read again until a vacuum.
_DELETE = """
    WITH deleted AS (
        DELETE FROM {table}
         WHERE ctid = ANY(ARRAY(
               SELECT ctid FROM {table} WHERE {time} >= %s::timestamptz AND {time} < now() - %s::interval {more}
                ORDER BY {time} LIMIT %s {lock}))
     RETURNING {time} AS time)
    SELECT count(*), max(time) FROM deleted
"""
# A row that is locked by a request is being renewed.
SKIP_LOCKED = "FOR UPDATE SKIP LOCKED"

_BY_SANDBOX = """
    AND actor_kind = 'partner' AND actor IN (SELECT slug FROM partners_partner WHERE mode = 'sandbox')
"""

_OF_SANDBOX_OR_OLD = (
    f"AND (starts_with(prefix, '{KEY_PREFIXES[Mode.SANDBOX]}') OR {KEY_ENDED_AT} < now() - interval '{KEY_DAYS} days')"
)


def purge_requests(*, batch_size: int) -> dict[str, int]:
    """Remove what has expired of requests and keys; returns the rows by their name in `purge_expired --json`.

    Contract, sections 4 and 11.
    """
    return {
        name: purge(table, time, age, batch_size, more=more, lock=lock)
        for name, table, time, age, more, lock in (
            ("idempotencyRecords", "partners_idempotencyrecord", "completed_at", idempotency.WINDOW, "", SKIP_LOCKED),
            # The serving role may not update these rows, and therefore not lock them.
            ("usedSignatures", "partners_usedsignature", "signed_at", SIGNATURE_WINDOW, "", ""),
            ("sandboxRequests", "partners_sandboxrequest", "created_at", request_log.KEPT, "", ""),
            ("auditEntries", "core_auditentry", "at", timedelta(days=SANDBOX_DAYS), _BY_SANDBOX, ""),
            ("apiKeys", "partners_apikey", KEY_ENDED_AT, timedelta(days=SANDBOX_KEY_DAYS), _OF_SANDBOX_OR_OLD, ""),
        )
    }


def purge(table: str, time: str, age: timedelta, batch_size: int, *, more: str = "", lock: str = "") -> int:
    """Remove the rows of a table whose time (SQL) is older than `age`; return their number.

    more: a further condition. lock: of the rows, SKIP_LOCKED or none.
    Safe while serving: each batch is a transaction of its own, and stays removed if a later one fails.
    """
    statement = _DELETE.format(table=table, time=time, more=more, lock=lock)
    total: int = 0
    oldest: object = "-infinity"
    while True:
        deleted, latest = statements.fetch_one(statement, (oldest, age, batch_size)) or (0, None)
        total += deleted
        if deleted < batch_size:
            return total
        oldest = latest
