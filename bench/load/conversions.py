"""Generates conversions in PostgreSQL, under the role that owns the schema, for the users of bench/load/users.py.

They are inserted in order of time, as imports are, so that a user's rows are scattered. A few users have very many.
Constraints and indexes stay enabled.
"""

from django.db import connections, transaction

from partners.db import serving_role

BATCH_SIZE = 500_000

_NUMBER_USERS = """
    CREATE TEMPORARY TABLE IF NOT EXISTS load_user AS
    SELECT row_number() OVER (ORDER BY external_id) AS number, id, partner_id
      FROM users_user WHERE external_id LIKE 'load-%%'
"""
# The square gives the first users the most.
_INSERT = """
    INSERT INTO transactions_conversion
           (partner_id, user_id, conversion_id, created_at, from_currency, from_amount, to_currency, to_amount, rate)
    SELECT partner_id, id, 'load-' || made.n,
           timestamptz '2026-11-01Z' - interval '2 years' * (1 - made.n / %s::float8), 'CAD',
           made.amount, 'USD', round(made.amount * made.rate, 2), made.rate
      FROM (SELECT n, 1 + floor(power(random(), 2) * %s)::bigint AS number,
                   round((10 + 5000 * random())::numeric, 2) AS amount,
                   round((0.7 + 0.1 * random())::numeric, 6) AS rate
              FROM generate_series(%s::bigint, %s::bigint) AS n) AS made
      JOIN load_user USING (number)
"""


def fill(*, conversions: int) -> None:
    """Add conversions of the last two years, and gather statistics. Raises IntegrityError if they exist."""
    connection = connections[serving_role.owner_alias()]
    with connection.cursor() as cursor:
        cursor.execute(_NUMBER_USERS)
        cursor.execute("SELECT count(*) FROM load_user")
        users = cursor.fetchone()[0]
        cursor.execute("ANALYZE load_user")
        for first in range(1, conversions + 1, BATCH_SIZE):
            last = min(first + BATCH_SIZE - 1, conversions)
            with transaction.atomic(using=connection.alias):
                cursor.execute(_INSERT, [conversions, users, first, last])
        cursor.execute("VACUUM (ANALYZE) transactions_conversion")
