"""The record of imports: when each ran, how far it came and how it ended (docs/operations.md).

A run's row moves on with each batch, in the batch's own transaction, and so never says what is not so.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NoReturn

from partners.db import statements
from transactions.models import ImportRun, RunState

_RECORD = """
    UPDATE transactions_importrun
       SET line = %s, bytes_read = %s, imported = imported + %s, unchanged = unchanged + %s, rejected = rejected + %s,
           updated_at = statement_timestamp()
     WHERE id = %s AND line < %s
 RETURNING imported
"""
_IMPORTED = "SELECT imported FROM transactions_importrun WHERE id = %s"
_END = """
    UPDATE transactions_importrun
       SET state = %s, imported = %s, unchanged = %s, rejected = %s, bytes_read = %s,
           updated_at = statement_timestamp(), ended_at = statement_timestamp()
     WHERE id = %s
"""
_FAIL = """
    UPDATE transactions_importrun
       SET state = %s, updated_at = statement_timestamp(), ended_at = statement_timestamp()
     WHERE id = %s
"""


@dataclass(slots=True)
class Counts:
    """What became of lines. Each is in just one of the three."""

    imported: int = 0
    unchanged: int = 0
    rejected: int = 0


def begin(*, source: str, size_bytes: int | None) -> int:
    """Notes that an import begins; the run's id. source: the file's own name. Raises Django's database errors."""
    return ImportRun.objects.create(source=source, size_bytes=size_bytes).pk


def record(run: int, line: int, bytes_read: int, counts: Counts) -> int:
    """Adds what became of the lines up to this one, once: how many conversions the run has imported in all."""
    parameters = (line, bytes_read, counts.imported, counts.unchanged, counts.rejected, run, line)
    row = statements.fetch_one(_RECORD, parameters) or statements.fetch_one(_IMPORTED, (run,)) or _missing(run)
    return int(row[0])


def end(run: int, state: RunState, counts: Counts, bytes_read: int) -> None:
    """Notes how an import ended, with the counts of all its lines. Nothing changes the row after that."""
    statements.run(_END, (state.value, counts.imported, counts.unchanged, counts.rejected, bytes_read, run))


def fail(run: int) -> None:
    """Notes that an import failed, with the counts of its last batch. Nothing changes the row after that."""
    statements.run(_FAIL, (RunState.FAILED.value, run))


def latest(count: int) -> Iterable[ImportRun]:
    """The runs that began last, newest first."""
    return ImportRun.objects.order_by("-id")[:count]


def _missing(run: int) -> NoReturn:
    raise LookupError(f"There is no import run {run}.")
