"""The kinds of advisory locks: the first of their two numbers. The second is a hash of what is locked.

Those of another kind never meet; two of a kind whose hashes are equal wait for each other.
"""

from enum import IntEnum


class AdvisoryLock(IntEnum):
    """First numbers. They do not change: two versions of the service run at once."""

    # Of a partner's Idempotency-Key (partners/api/idempotency.py).
    IDEMPOTENCY_KEY = 1
    # Of a partner's feed, while events are placed (partners/migrations/0003_feed_functions.py).
    FEED = 2
