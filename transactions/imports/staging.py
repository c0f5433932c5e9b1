"""A batch of conversions on its way into the database: all of it in one transaction, or none.

It is copied into a temporary table and inserted from there. What is there already, from an earlier run or from one
beside this one, meets the unique conversionId: the same content is no matter, other content is a problem.
"""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from django.db import DatabaseError, InterfaceError, connection, transaction
from psycopg.errors import LockNotAvailable, QueryCanceled

from partners.db import statements
from partners.db.statements import answers_within
from transactions.imports import runs
from transactions.imports.lines import ImportedConversion

UNKNOWN_PARTNER = "there is no such partner"
UNKNOWN_USER = "the partner has no user with this externalId"
OTHER_CONTENT = "a conversion with this conversionId is there with other content"
# Seconds to wait, in turn, for a database that went away.
PATIENCE = (0.5, 1, 2, 4, 8, 15)
STATEMENT_SECONDS = 300

# The limits that keep a request short are not for many rows at once. The statistics of a temporary table are not known:
# a plan made without them could read all conversions, where each row's index entry is wanted.
_SET_UP = """
    SELECT set_config('statement_timeout', '5min', true), set_config('lock_timeout', '1min', true),
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
    partner_id, user_id, conversion_id, created_at, type, from_currency, from_amount, to_currency, to_amount, rate
"""
_GIVEN = """
    SELECT p.id AS partner_id, u.id AS user_id, s.conversion_id, s.created_at, s.type, s.from_currency,
           s.from_amount::numeric, s.to_currency, s.to_amount::numeric, s.rate::numeric
      FROM staged_conversion s
      JOIN partners_partner p ON p.slug = s.partner
      JOIN users_user u ON u.partner_id = p.id AND u.external_id = s.external_id
"""
# In one order for all: two imports of the same lines wait for each other and do not deadlock.
_INSERT = f"""
    INSERT INTO transactions_conversion ({_COLUMNS}) {_GIVEN}
     ORDER BY p.id, s.conversion_id
        ON CONFLICT (partner_id, conversion_id) DO NOTHING
"""
# Of each line that is not stored as it says: whether its partner, its user and its conversion are there.
_FIND_OTHERS = """
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
_FIND_OTHERS_STORED = _FIND_OTHERS.format(conversions="transactions_conversion")

# What a dry run would have written, where no other session sees it; it goes with the connection.
_CREATE_REHEARSED = f"""
    CREATE TEMPORARY TABLE rehearsed_conversion AS SELECT {_COLUMNS} FROM transactions_conversion WITH NO DATA
"""
_INDEX_REHEARSED = "CREATE UNIQUE INDEX ON rehearsed_conversion (partner_id, conversion_id)"
_INSERT_REHEARSED = f"""
    INSERT INTO rehearsed_conversion ({_COLUMNS})
    {_GIVEN}
     WHERE NOT EXISTS (SELECT FROM transactions_conversion c
                        WHERE c.partner_id = p.id AND c.conversion_id = s.conversion_id)
        ON CONFLICT (partner_id, conversion_id) DO NOTHING
"""
_FIND_OTHERS_REHEARSED = _FIND_OTHERS.format(
    conversions=f"""(SELECT {_COLUMNS} FROM transactions_conversion
                      UNION ALL SELECT {_COLUMNS} FROM rehearsed_conversion)"""
)


class Batch(NamedTuple):
    """Lines to be stored together, each with a conversionId of its own, and how far the import is with them."""

    # As `row` makes them.
    rows: Sequence[str]
    # Numbers of further lines that say what one of these says, with that one's number.
    repeats: Mapping[int, int]
    # Lines refused by themselves since the batch before.
    refused: int
    last_line: int
    bytes_read: int


@dataclass(frozen=True, slots=True)
class Stored:
    """What became of a batch: how many conversions are new, and what is wrong with which line, its repeats included."""

    imported: int
    unchanged: int
    problems: Mapping[int, str]


class Store(Protocol):
    """Takes batches, one after the other. Raises Django's database errors; then nothing of the batch is stored."""

    def __call__(self, batch: Batch) -> Stored:
        """Stores the batch."""


@dataclass
class Database:
    """Stores batches for good. With a run, its record moves on with each, in the same transaction."""

    run: int | None = None
    _imported: int = 0
    _mostly_known: bool = False

    def __call__(self, batch: Batch) -> Stored:
        """Stores the batch; where the connection is lost it is tried again, for about half a minute."""
        for pause in PATIENCE:
            try:
                return self._store(batch)
            except (DatabaseError, InterfaceError) as error:
                # In the caller's transaction, or where it took too long, again would be no better.
                if connection.in_atomic_block or isinstance(error.__cause__, (QueryCanceled, LockNotAvailable)):
                    raise
                if not statements.is_unreachable(error) and statements.sqlstate(error) != statements.STALE_PLAN:
                    raise
                connection.close()
                time.sleep(pause)
        return self._store(batch)

    def _store(self, batch: Batch) -> Stored:
        with answers_within(STATEMENT_SECONDS), transaction.atomic():
            _stage(batch)
            imported, problems = _insert(len(batch.rows), _INSERT, _FIND_OTHERS_STORED, known=self._mostly_known)
            stored = _stored(batch, imported, problems)
            if self.run is not None:
                # A commit whose answer was lost is met again as unchanged: the record knows what it was.
                recorded = runs.record(self.run, batch.last_line, batch.bytes_read, _counts(batch, stored))
                stored = _stored(batch, recorded - self._imported, problems)
        self._imported += stored.imported
        self._mostly_known = stored.imported * 2 < len(batch.rows)
        return stored


@dataclass
class Rehearsal:
    """Says what `Database` would say, and leaves nothing behind: a lost connection ends it."""

    _begun: bool = False
    _mostly_known: bool = False

    def __call__(self, batch: Batch) -> Stored:
        """Notes the batch, for those after it, in a temporary table."""
        with answers_within(STATEMENT_SECONDS), transaction.atomic():
            if not self._begun:
                statements.run(_CREATE_REHEARSED, ())
                statements.run(_INDEX_REHEARSED, ())
            _stage(batch)
            imported, problems = _insert(
                len(batch.rows), _INSERT_REHEARSED, _FIND_OTHERS_REHEARSED, known=self._mostly_known
            )
        self._begun, self._mostly_known = True, imported * 2 < len(batch.rows)
        return _stored(batch, imported, problems)


def _stage(batch: Batch) -> None:
    statements.fetch_one(_SET_UP, ())
    statements.run(_CREATE_STAGED, ())
    with connection.wrap_database_errors, connection.connection.cursor().copy(_COPY) as copy:
        copy.write("".join(batch.rows))


def _insert(lines: int, insert: str, find_others: str, *, known: bool) -> tuple[int, dict[int, str]]:
    """Inserts what is staged: how many rows are new, and what is wrong with which line.

    known: whether most is probably there. Then looking first is quicker; nothing else depends on it.
    """
    if known:
        others = statements.fetch_all(find_others, ())
        if not any(user and not conversion for _, _, user, conversion in others):
            return 0, _problems(others)
    imported = statements.run(insert, ())
    return imported, {} if imported == lines else _problems(statements.fetch_all(find_others, ()))


def _problems(others: list[statements.Row]) -> dict[int, str]:
    return {
        line: OTHER_CONTENT if user else UNKNOWN_USER if partner else UNKNOWN_PARTNER
        for line, partner, user, _ in others
    }


def _stored(batch: Batch, imported: int, problems: Mapping[int, str]) -> Stored:
    shared = {number: problems[first] for number, first in batch.repeats.items() if first in problems}
    known = len(batch.rows) + len(batch.repeats) - imported - len(problems) - len(shared)
    return Stored(imported, known, {**problems, **shared})


def _counts(batch: Batch, stored: Stored) -> runs.Counts:
    return runs.Counts(stored.imported, stored.unchanged, batch.refused + len(stored.problems))


def row(number: int, c: ImportedConversion) -> str:
    """A numbered line for a batch, in COPY's text format: whoever reads lines makes it, while others are stored.

    Of what the format escapes, only a backslash can be there, in an externalId.
    """
    external_id = c.external_id.replace("\\", "\\\\")
    return (
        f"{number}\t{c.partner}\t{external_id}\t{c.conversion_id}\t{c.created_at.isoformat()}\t{c.type}\t"
        f"{c.from_currency}\t{c.from_amount}\t{c.to_currency}\t{c.to_amount}\t{c.rate}\n"
    )
