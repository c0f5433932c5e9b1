"""What is kept for a while and then removed.

Answers under idempotency keys, signatures of updates, usage counters.
"""

from datetime import timedelta
from typing import NamedTuple

from partners.api import idempotency
from partners.db import statements

# The widest CLOCK_SKEW_SECONDS that the settings allow, with a margin for clocks that disagree.
SIGNATURE_WINDOW = timedelta(seconds=3600) + timedelta(hours=1)
# Reports go back seven days, and to the beginning of the hour.
USAGE_KEPT = timedelta(days=8)

# Oldest first, from where the batch before ended: what it left in the index is not passed again before a vacuum.
_DELETE = """
    WITH gone AS (
        DELETE FROM {table}
         WHERE ctid = ANY(ARRAY(
               SELECT ctid FROM {table} WHERE {time} >= %s::timestamptz AND {time} < now() - %s::interval
                ORDER BY {time} LIMIT %s {lock}))
     RETURNING {time})
    SELECT count(*), max({time}) FROM gone
"""
# A row that a request holds is skipped, not waited for: that request is taking it over for a new window.
_SKIP = "FOR UPDATE SKIP LOCKED"
_DELETE_RECORDS = _DELETE.format(table="partners_idempotencyrecord", time="created_at", lock=_SKIP)
# These rows never change, and the serving role, which may not update them, may not lock them either.
_DELETE_SIGNATURES = _DELETE.format(table="partners_usedsignature", time="signed_at", lock="")
_DELETE_USAGE = _DELETE.format(table="partners_apiusage", time="hour", lock=_SKIP)


class Purged(NamedTuple):
    """How many rows are gone."""

    idempotency_records: int
    used_signatures: int
    usage_counters: int


def purge_expired(*, batch_size: int = 1000) -> Purged:
    """Removes idempotency records past their window (contract, section 4), signatures that no request can repeat,
    and usage counters older than USAGE_KEPT.

    Safe while serving: each batch of at most `batch_size` rows is a short transaction of its own, so
    one that fails leaves the batches before it done.
    """
    return Purged(
        _in_batches(_DELETE_RECORDS, idempotency.WINDOW, batch_size),
        _in_batches(_DELETE_SIGNATURES, SIGNATURE_WINDOW, batch_size),
        _in_batches(_DELETE_USAGE, USAGE_KEPT, batch_size),
    )


def _in_batches(statement: str, age: timedelta, batch_size: int) -> int:
    total: int = 0
    oldest: object = "-infinity"
    while True:
        # Alone in its transaction: nothing here opens one.
        deleted, latest = statements.fetch_one(statement, (oldest, age, batch_size)) or (0, None)
        total += deleted
        if deleted < batch_size:
            return total
        oldest = latest
