"""What is kept for a while and then removed.

Answers under idempotency keys, signatures of updates, counts of requests.
"""

from collections.abc import Sequence
from datetime import timedelta
from typing import NamedTuple

from partners import sql
from partners.api import idempotency

# The widest CLOCK_SKEW_SECONDS that the settings allow, with a margin for clocks that disagree.
SIGNATURE_WINDOW = timedelta(seconds=3600) + timedelta(hours=1)
# Reports go back seven days, and to the beginning of the hour.
COUNTS_KEPT = timedelta(days=8)

# A row that a request holds is skipped, not waited for: that request is taking it over for a new window.
_DELETE_RECORDS = """
    DELETE FROM partners_idempotencyrecord
     WHERE ctid = ANY(ARRAY(
           SELECT ctid FROM partners_idempotencyrecord WHERE created_at <= now() - %s::interval
            ORDER BY created_at LIMIT %s FOR UPDATE SKIP LOCKED))
"""
# These rows never change, and the serving role, which may not update them, may not lock them either.
_DELETE_SIGNATURES = """
    DELETE FROM partners_usedsignature
     WHERE ctid = ANY(ARRAY(
           SELECT ctid FROM partners_usedsignature WHERE signed_at < now() - %s::interval
            ORDER BY signed_at LIMIT %s))
"""
_DELETE_COUNTS = """
    DELETE FROM {table}
     WHERE ctid = ANY(ARRAY(
           SELECT ctid FROM {table} WHERE hour < now() - %s::interval
            ORDER BY hour LIMIT %s FOR UPDATE SKIP LOCKED))
"""
_DELETE_TROUBLES = _DELETE_COUNTS.format(table="partners_authenticationtrouble")
_DELETE_REQUESTS = _DELETE_COUNTS.format(table="partners_requestcount")
_DELETE_SKEWS = _DELETE_COUNTS.format(table="partners_clockskew")


class Purged(NamedTuple):
    """How many rows are gone."""

    idempotency_records: int
    used_signatures: int
    authentication_troubles: int
    request_counts: int
    clock_skews: int


def purge_expired(*, batch_size: int = 1000) -> Purged:
    """Removes idempotency records past their window (contract, section 4), signatures that no request can repeat,
    and counts of requests older than COUNTS_KEPT.

    Safe while serving: each batch of at most `batch_size` rows is a short transaction of its own, so
    one that fails leaves the batches before it done.
    """
    return Purged(
        _in_batches(_DELETE_RECORDS, (idempotency.WINDOW, batch_size), batch_size),
        _in_batches(_DELETE_SIGNATURES, (SIGNATURE_WINDOW, batch_size), batch_size),
        _in_batches(_DELETE_TROUBLES, (COUNTS_KEPT, batch_size), batch_size),
        _in_batches(_DELETE_REQUESTS, (COUNTS_KEPT, batch_size), batch_size),
        _in_batches(_DELETE_SKEWS, (COUNTS_KEPT, batch_size), batch_size),
    )


def _in_batches(statement: str, parameters: Sequence[object], batch_size: int) -> int:
    total = 0
    while True:
        # Alone in its transaction: nothing here opens one.
        deleted = sql.run(statement, parameters)
        total += deleted
        if deleted < batch_size:
            return total
