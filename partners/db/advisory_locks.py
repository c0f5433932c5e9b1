"""The kinds of advisory locks: the first of their two numbers. The second is a hash of what is locked.

Those of another kind never meet; two of a kind whose hashes are equal wait for each other.
"""

from enum import IntEnum


class AdvisoryLock(IntEnum):
    """First numbers. They do not change: two versions of the service run at once."""

    # A partner's Idempotency-Key (partners/api/idempotency.py).
    IDEMPOTENCY_KEY = 1
    # A partner's feed, while events get positions (partners/sql/partners_place_events.sql).
    FEED = 2
