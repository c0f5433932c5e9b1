"""Query plans that do not depend on statistics."""

import itertools
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.db import DEFAULT_DB_ALIAS, connection, connections, transaction
from django.db.backends.utils import CursorWrapper
from psycopg import sql as composing

from core.database import serving_role
from core.database.pipeline import Query
from partners.models import Mode, Partner

# Disabled, so that a plan that does not use an index's order shows a sort.
UNORDERED = ("seqscan", "bitmapscan", "sort", "incremental_sort")
# Adds users x1, x2 and so on. Parameters: the partner's id, and how many.
ADD_USERS = """
    INSERT INTO users_user (id, partner_id, external_id, email, first_name, last_name, date_of_birth, address_line1,
                            city, country, occupation, is_ciro_affiliate)
    SELECT gen_random_uuid(), %s, 'x' || n, 'x' || n || '@example.com', 'Ada', 'B' || n, '1990-01-01',
           repeat('1 Elgin St ', 18), 'Ottawa', 'CA', 'Engineer', false FROM generate_series(1, %s) AS n
"""


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


def nodes(node: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The plan's nodes, outermost first."""
    yield node
    for below in node.get("Plans", ()):
        yield from nodes(below)


def generic_plan(query: Query[Any]) -> dict[str, Any]:
    """The plan of a statement that a connection has prepared and run several times, and what it read."""
    numbers = itertools.count(1)
    values = composing.SQL(", ").join(map(composing.Literal, query.parameters))
    connection.connection.execute("SET LOCAL plan_cache_mode = force_generic_plan")
    connection.connection.execute(
        "PREPARE page AS " + re.sub("%s", lambda _: f"${next(numbers)}", query.statement), prepare=False
    )
    try:
        explain = composing.SQL("EXPLAIN (ANALYZE, FORMAT JSON) EXECUTE page ({})").format(values)
        row = connection.connection.execute(explain).fetchone()
    finally:
        connection.connection.execute("DEALLOCATE page")
    found: dict[str, Any] = row[0][0]["Plan"]
    return found


@contextmanager
def planning_of_many_users() -> Iterator[CursorWrapper]:
    """The owner's transaction, rolled back at its end, with 500 users of each mode, without sequential scans.

    Of a small table, or one without statistics, all indexes cost the same; and only the owner may analyse it. Long rows
    make those of a whole mode cost more than the index of a search for several words.
    """
    owner = serving_role.OWNER
    with planning_without("seqscan", using=owner) as cursor:
        for mode in Mode:
            partner = Partner.objects.using(owner).create(slug=f"many-{mode.value}", name="Many", mode=mode)
            cursor.execute(ADD_USERS, [partner.pk, 500])
        # They still list what earlier tests inserted and rolled back: reading that would cost more than another index.
        for index in ("user_folded_words", "user_folded_words_sandbox"):
            cursor.execute("SELECT gin_clean_pending_list(%s::regclass)", [index])
        cursor.execute("ANALYZE users_user")
        yield cursor


def vacuum(*tables: str) -> None:
    """Vacuum and analyze tables, as their owner."""
    owner = connections[serving_role.OWNER]
    with owner.cursor() as cursor:
        cursor.execute(f"VACUUM (ANALYZE) {', '.join(tables)}")
    owner.close()
