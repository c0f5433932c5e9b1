"""Stores a batch of conversions, in one transaction.

The batch is copied into a temporary table and inserted from there. A line whose conversionId exists, from an earlier
line, run or a concurrent run, is unchanged if it is identical, and rejected otherwise.
"""

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar, NamedTuple

from django.db import DatabaseError, InterfaceError, connection, transaction
from django.db.models import F
from django.db.models.functions import Now
from psycopg.errors import LockNotAvailable, QueryCanceled

from partners.db import statements
from partners.db.statements import response_timeout
from transactions.models import ImportRun

UNKNOWN_PARTNER = "partner not found"
UNKNOWN_USER = "user not found"
OTHER_CONTENT = "a conversion with this conversionId and other content exists"
# Pauses in seconds before the retries without a database.
RETRY_PAUSES = (0.5, 1, 2, 4, 8, 15)
STATEMENT_SECONDS = 300
LOCK_SECONDS = 60

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
_COLUMNS = """
    partner_id, user_id, is_sandbox, conversion_id, created_at, type, from_currency, from_amount, to_currency,
    to_amount, rate, while_inactive
"""
# As a plain join, PostgreSQL may look users up by externalId alone, in the index of the staff's search: twice as slow,
# and more where partners use the same ones. With LIMIT it uses the index of both columns.
_STAGED = """
    SELECT p.id AS partner_id, u.id AS user_id, u.is_sandbox, s.conversion_id, s.created_at, s.type, s.from_currency,
           s.from_amount::numeric, s.to_currency, s.to_amount::numeric, s.rate::numeric,
           u.status <> 'active' AS while_inactive
      FROM staged_conversion s
      JOIN partners_partner p ON p.slug = s.partner
     CROSS JOIN LATERAL (SELECT id, is_sandbox, status FROM users_user
                          WHERE partner_id = p.id AND external_id = s.external_id LIMIT 1) AS u
"""
# Ordered by conversionId, so that two imports of the same lines wait for each other and do not deadlock, and by line,
# so that the first of several lines counts.
_INSERT = f"""
    INSERT INTO transactions_conversion ({_COLUMNS}) {_STAGED}
     ORDER BY p.id, s.conversion_id, s.line
        ON CONFLICT (partner_id, conversion_id) DO NOTHING
"""
# The lines that differ from what is stored: whether their partner, user and conversion exist.
_MISMATCHES_IN = """
    SELECT s.line, p.id IS NOT NULL, u.id IS NOT NULL, c.conversion_id IS NOT NULL
      FROM staged_conversion s
      LEFT JOIN partners_partner p ON p.slug = s.partner
      LEFT JOIN users_user u ON u.partner_id = p.id AND u.external_id = s.external_id
      LEFT JOIN {conversions} c ON c.partner_id = p.id AND c.conversion_id = s.conversion_id
     WHERE u.id IS NULL OR c.conversion_id IS NULL
        OR (c.user_id, c.created_at, c.type, c.from_currency, c.from_amount::text, c.to_currency,
            c.to_amount::text, c.rate::text)
           IS DISTINCT FROM
           (u.id, s.created_at, s.type, s.from_currency, s.from_amount, s.to_currency, s.to_amount, s.rate)
"""
_MISMATCHES = _MISMATCHES_IN.format(conversions="transactions_conversion")

# The conversions that a dry run would have stored. The table ends with the connection.
_CREATE_REHEARSED = f"""
    CREATE TEMPORARY TABLE IF NOT EXISTS rehearsed_conversion
        AS SELECT {_COLUMNS} FROM transactions_conversion WITH NO DATA
"""
_INDEX_REHEARSED = """
    CREATE UNIQUE INDEX IF NOT EXISTS rehearsed_conversion_id ON rehearsed_conversion (partner_id, conversion_id)
"""
_INSERT_REHEARSED = f"""
    INSERT INTO rehearsed_conversion ({_COLUMNS})
    {_STAGED}
     WHERE NOT EXISTS (SELECT FROM transactions_conversion c
                        WHERE c.partner_id = p.id AND c.conversion_id = s.conversion_id)
     ORDER BY p.id, s.conversion_id, s.line
        ON CONFLICT (partner_id, conversion_id) DO NOTHING
"""
_MISMATCHES_REHEARSED = _MISMATCHES_IN.format(
    conversions=f"""(SELECT {_COLUMNS} FROM transactions_conversion
                      UNION ALL SELECT {_COLUMNS} FROM rehearsed_conversion)"""
)


@dataclass(slots=True)
class Counts:
    """Numbers of lines. Each line is in one of the three."""

    imported: int = 0
    unchanged: int = 0
    rejected: int = 0


class Stored(NamedTuple):
    """The outcome of a batch. problems: the reasons of rejected lines by number."""

    imported: int
    unchanged: int
    problems: Mapping[int, str]


@dataclass
class Batch:
    """Lines by number, the rows of the well-formed ones for COPY, and the reasons of the others.

    refused: the number of malformed lines since the batch that was stored before. last_line: the number of the last
    line read. bytes_read: of the source so far.
    """

    lines: dict[int, bytes] = field(default_factory=dict)
    rows: list[str] = field(default_factory=list)
    reasons: dict[int, str] = field(default_factory=dict)
    size: int = 0
    refused: int = 0
    last_line: int = 0
    bytes_read: int = 0

    def add(self, number: int, line: bytes, values: str) -> None:
        """Add a line. values: of `parse_line`."""
        self.rows.append(f"{number}\t{values}\n")
        self.lines[number] = line
        self.size += len(line)

    def reject(self, number: int, line: bytes, reason: str) -> None:
        """Keep a malformed line until those before it are stored, so that all are reported in their order."""
        self.reasons[number], self.lines[number] = reason, line
        self.refused += 1
        self.size += len(line) + len(reason)


@dataclass
class Database:
    """Stores batches. With a run, each batch updates the run's record in the same transaction, so that both agree."""

    insert: ClassVar = _INSERT
    mismatches: ClassVar = _MISMATCHES

    run: int | None = None
    statement_seconds: int = STATEMENT_SECONDS
    lock_seconds: int = LOCK_SECONDS
    _imported: int = 0
    _mostly_existing: bool = False

    def __call__(self, batch: Batch) -> Stored:
        """Store a batch; without a database it is retried for about half a minute. Raises Django's database errors."""
        for pause in RETRY_PAUSES:
            try:
                return self._store(batch)
            except (DatabaseError, InterfaceError) as error:
                # A retry does not help inside the caller's transaction, or after a timeout.
                if connection.in_atomic_block or isinstance(error.__cause__, (QueryCanceled, LockNotAvailable)):
                    raise
                # Users who were erased meanwhile: now their lines are rejected.
                if not statements.is_reference_gone(error):
                    if not statements.is_unreachable(error) and not statements.is_stale_plan(error):
                        raise
                    connection.close()
                time.sleep(pause)
        return self._store(batch)

    def _store(self, batch: Batch) -> Stored:
        with response_timeout(self.statement_seconds), transaction.atomic():
            statements.fetch_one(_SET_UP, (f"{self.statement_seconds}s", f"{self.lock_seconds}s"))
            _stage(batch)
            imported, problems = self._insert(len(batch.rows))
            known = len(batch.rows) - len(problems)
            if self.run is not None:
                counts = Counts(imported, known - imported, batch.refused + len(problems))
                # After a commit whose answer was lost, a retry finds all rows unchanged. The record has the truth.
                imported = record_progress(self.run, batch.last_line, batch.bytes_read, counts) - self._imported
        self._imported += imported
        self._mostly_existing = imported * 2 < len(batch.rows)
        return Stored(imported, known - imported, problems)

    def _insert(self, count: int) -> tuple[int, dict[int, str]]:
        """Insert the staged rows: the number of new ones, and the problems of lines by number."""
        if self._mostly_existing:
            # Then comparing first is quicker.
            mismatches = statements.fetch_all(self.mismatches, ())
            if not any(user and not conversion for _, _, user, conversion in mismatches):
                return 0, _problems(mismatches)
        imported = statements.run(self.insert, ())
        return imported, {} if imported == count else _problems(statements.fetch_all(self.mismatches, ()))


class Rehearsal(Database):
    """Reports what Database would report, and stores nothing. A lost connection ends it."""

    insert = _INSERT_REHEARSED
    mismatches = _MISMATCHES_REHEARSED

    def __call__(self, batch: Batch) -> Stored:
        """Keep the batch in a temporary table, for those after it. Raises Django's database errors."""
        with transaction.atomic():
            statements.run(_CREATE_REHEARSED, ())
            statements.run(_INDEX_REHEARSED, ())
            return self._store(batch)


def _stage(batch: Batch) -> None:
    statements.run(_CREATE_STAGED, ())
    with connection.wrap_database_errors, connection.connection.cursor().copy(_COPY) as copy:
        copy.write("".join(batch.rows))


def record_progress(run: int, line: int, bytes_read: int, counts: Counts) -> int:
    """Add a batch that ends at this line, unless it is recorded already; return the run's imported conversions."""
    row = ImportRun.objects.filter(pk=run)
    row.filter(line__lt=line).update(
        line=line,
        bytes_read=bytes_read,
        imported=F("imported") + counts.imported,
        unchanged=F("unchanged") + counts.unchanged,
        rejected=F("rejected") + counts.rejected,
        updated_at=Now(),
    )
    return row.values_list("imported", flat=True).get()


def _problems(mismatches: list[statements.Row]) -> dict[int, str]:
    return {
        line: OTHER_CONTENT if user else UNKNOWN_USER if partner else UNKNOWN_PARTNER
        for line, partner, user, _ in mismatches
    }
