"""Query plans that do not depend on statistics."""

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import DEFAULT_DB_ALIAS, connections, transaction
from django.db.backends.utils import CursorWrapper

# Disabled, so that a plan that does not use an index's order shows a sort.
UNORDERED = ("seqscan", "bitmapscan", "sort", "incremental_sort")


@contextmanager
def planning_without(*kinds: str, using: str = DEFAULT_DB_ALIAS) -> Iterator[CursorWrapper]:
    """A transaction, rolled back at its end, in which PostgreSQL avoids these plan nodes at any cost.

    kinds: as in the names of its settings `enable_…`. PostgreSQL 18 compares how many disabled nodes plans have before
    it compares their costs, so a plan with none is chosen if there is one.
    """
    with transaction.atomic(using=using), connections[using].cursor() as cursor:
        for kind in kinds:
            cursor.execute(f"SET LOCAL enable_{kind} = off")
        yield cursor
        transaction.set_rollback(True, using=using)
