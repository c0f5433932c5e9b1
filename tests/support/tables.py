"""The upkeep of tables that autovacuum would come to see to, at once."""

from django.db import connections

from partners.db import serving_role


def vacuum(*tables: str) -> None:
    """Clears the named tables of dead rows and gathers their statistics, as their owner, outside a transaction."""
    owner = connections[serving_role.OWNER]
    with owner.cursor() as cursor:
        cursor.execute(f"VACUUM (ANALYZE) {', '.join(tables)}")
    owner.close()
