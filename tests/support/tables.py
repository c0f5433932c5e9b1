"""Vacuums tables at once, instead of waiting for autovacuum."""

from django.db import connections

from core.database import serving_role


def vacuum(*tables: str) -> None:
    """Vacuum and analyze tables, as their owner."""
    owner = connections[serving_role.OWNER]
    with owner.cursor() as cursor:
        cursor.execute(f"VACUUM (ANALYZE) {', '.join(tables)}")
    owner.close()
