"""Removes expired rows: idempotency records, used signatures, usage counters."""

from datetime import timedelta

from partners.api import idempotency
from partners.db import statements

# The largest CLOCK_SKEW_SECONDS that the settings allow, and a margin for differing clocks.
SIGNATURE_WINDOW = timedelta(seconds=3600) + timedelta(hours=1)
# Reports need seven days and a whole hour.
USAGE_KEPT = timedelta(days=8)

# Oldest first, after the last row of the previous batch: its index entries would be read again until a vacuum.
_DELETE = """
    WITH deleted AS (
        DELETE FROM {table}
         WHERE ctid = ANY(ARRAY(
               SELECT ctid FROM {table} WHERE {time} >= %s::timestamptz AND {time} < now() - %s::interval
                ORDER BY {time} LIMIT %s {lock}))
     RETURNING {time})
    SELECT count(*), max({time}) FROM deleted
"""
# A row that is locked by a request is being renewed.
_SKIP = "FOR UPDATE SKIP LOCKED"


def purge_expired(*, batch_size: int) -> list[int]:
    """Remove expired idempotency records (contract, section 4), signatures and usage counters; return their numbers.

    Safe while serving: each batch is a transaction of its own, and stays removed if a later one fails.
    """
    return [
        _purge(_DELETE.format(table=table, time=time, lock=lock), age, batch_size)
        for table, time, age, lock in (
            ("partners_idempotencyrecord", "created_at", idempotency.WINDOW, _SKIP),
            # The serving role may not update these rows, and therefore not lock them.
            ("partners_usedsignature", "signed_at", SIGNATURE_WINDOW, ""),
            ("partners_apiusage", "hour", USAGE_KEPT, _SKIP),
        )
    ]


def _purge(statement: str, age: timedelta, batch_size: int) -> int:
    total: int = 0
    oldest: object = "-infinity"
    while True:
        deleted, latest = statements.fetch_one(statement, (oldest, age, batch_size)) or (0, None)
        total += deleted
        if deleted < batch_size:
            return total
        oldest = latest
