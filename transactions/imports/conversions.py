"""Stores conversions: of imports, and those that sandbox partners simulate.

A batch is copied into a temporary table and inserted from there. A conversion whose conversionId exists, from an
earlier line, run or a concurrent run, is unchanged if it is identical, and rejected otherwise.
"""

from collections.abc import Iterable
from typing import Any

from django.db import connection, transaction

from core.database import statements
from transactions.imports.lines import (
    CONVERSION_ID,
    LineError,
    created_at_of,
    external_id_of,
    parse_record,
    rate_of,
    side_rule,
    slug_of,
    text_rule,
)

UNKNOWN_PARTNER = "partner not found"
UNKNOWN_USER = "user not found"
OTHER_CONTENT = "a conversion with this conversionId and other content exists"
STATEMENT_SECONDS, LOCK_SECONDS = 300, 60

# A number of the caller's, partner's slug, externalId, conversionId, createdAt, type, currency and amount of each side,
# rate.
Row = tuple[str, ...]

# Longer limits than those of requests. PostgreSQL has no statistics of a temporary table: it could plan to read all
# conversions, although an index lookup for each row is cheaper.
_SET_UP = """
    SELECT set_config('statement_timeout', %s, true), set_config('lock_timeout', %s, true),
           set_config('enable_hashjoin', 'off', true), set_config('enable_mergejoin', 'off', true),
           set_config('enable_seqscan', 'off', true)
"""
_CREATE_STAGED = """
    CREATE TEMPORARY TABLE IF NOT EXISTS staged_conversion (
        line bigint, partner text, external_id text, conversion_id text, created_at timestamptz, type text,
        from_currency text, from_amount text, to_currency text, to_amount text, rate text
    ) ON COMMIT DELETE ROWS
"""
_COPY = "COPY staged_conversion FROM STDIN"
# As a plain join, PostgreSQL may look users up by externalId alone, in the index of the staff's search: twice as slow,
# and more where partners use the same ones. With LIMIT it uses the index of both columns.
#
# Ordered by conversionId, so that two imports of the same lines wait for each other and do not deadlock, and by line,
# so that the first of several lines counts.
_INSERT = """
    INSERT INTO transactions_conversion (partner_id, user_id, is_sandbox, conversion_id, created_at, type,
                                         from_currency, from_amount, to_currency, to_amount, rate, while_inactive)
    SELECT p.id, u.id, u.is_sandbox, s.conversion_id, s.created_at, s.type, s.from_currency, s.from_amount::numeric,
           s.to_currency, s.to_amount::numeric, s.rate::numeric, u.status <> 'active'
      FROM staged_conversion s
      JOIN partners_partner p ON p.slug = s.partner
     CROSS JOIN LATERAL (SELECT id, is_sandbox, status FROM users_user
                          WHERE partner_id = p.id AND external_id = s.external_id LIMIT 1) AS u
     ORDER BY p.id, s.conversion_id, s.line
        ON CONFLICT (partner_id, conversion_id) DO NOTHING
"""
# The lines that differ from what is stored: whether their partner and user exist.
_MISMATCHES = """
    SELECT s.line, p.id IS NOT NULL, u.id IS NOT NULL
      FROM staged_conversion s
      LEFT JOIN partners_partner p ON p.slug = s.partner
      LEFT JOIN users_user u ON u.partner_id = p.id AND u.external_id = s.external_id
      LEFT JOIN transactions_conversion c ON c.partner_id = p.id AND c.conversion_id = s.conversion_id
     WHERE (c.user_id, c.created_at, c.type, c.from_currency, c.from_amount::text, c.to_currency,
            c.to_amount::text, c.rate::text)
           IS DISTINCT FROM
           (u.id, s.created_at, s.type, s.from_currency, s.from_amount, s.to_currency, s.to_amount, s.rate)
"""


def _type(value: Any) -> str:
    if value != "conversion":
        raise LineError("must be conversion", "type", "notAllowed")
    return "conversion"


# By name, in the order of the temporary table's columns.
_RULES = {
    "partner": slug_of,
    "externalId": external_id_of,
    "conversionId": text_rule(CONVERSION_ID, "conversionId"),
    "createdAt": lambda value: created_at_of(value).isoformat(),
    "type": _type,
    "from": side_rule("from"),
    "to": side_rule("to"),
    "rate": rate_of,
}


def parse_conversion(number: int, line: bytes) -> Row:
    """The row of a line. number: of the line. Raises LineError."""
    value = parse_record(line, _RULES)
    head = (value["partner"], value["externalId"], value["conversionId"], value["createdAt"], value["type"])
    return (str(number), *head, *value["from"], *value["to"], value["rate"])


def store(
    rows: Iterable[Row],
    *,
    is_dry_run: bool = False,
    statement_seconds: int = STATEMENT_SECONDS,
    lock_seconds: int = LOCK_SECONDS,
) -> tuple[int, dict[int, str]]:
    """Store rows in one transaction: how many are new, and why others were rejected, by their numbers.

    The rest is unchanged. is_dry_run: roll the transaction back. Raises Django's database errors.
    """
    # A backslash is the only character that COPY escapes and that can occur.
    lines = ["\t".join(row).replace("\\", "\\\\") for row in rows]
    with statements.response_timeout(statement_seconds), transaction.atomic():
        statements.fetch_one(_SET_UP, (f"{statement_seconds}s", f"{lock_seconds}s"))
        statements.run(_CREATE_STAGED, ())
        with connection.wrap_database_errors, connection.connection.cursor().copy(_COPY) as copy:
            copy.write("\n".join([*lines, ""]))
        imported = statements.run(_INSERT, ())
        mismatches = statements.fetch_all(_MISMATCHES, ()) if imported < len(lines) else []
        if is_dry_run:
            transaction.set_rollback(True)
    return imported, {
        number: OTHER_CONTENT if user else UNKNOWN_USER if partner else UNKNOWN_PARTNER
        for number, partner, user in mismatches
    }
