"""The record of imports: progress and outcome (docs/operations.md).

Each batch updates its run in its own transaction, so that the record always agrees with the stored rows.
"""

from dataclasses import asdict, dataclass

from django.db.models import F
from django.db.models.functions import Now

from transactions.models import ImportRun, RunState


@dataclass(slots=True)
class Counts:
    """Numbers of lines. Each line is in one of the three."""

    imported: int = 0
    unchanged: int = 0
    rejected: int = 0


def begin(*, source: str, size_bytes: int | None) -> int:
    """Create a run and return its id. source: the file's name without folders."""
    return ImportRun.objects.create(source=source, size_bytes=size_bytes).pk


def record(run: int, line: int, bytes_read: int, counts: Counts) -> int:
    """Add a batch that ends at this line, unless it is recorded already; returns the run's imported conversions."""
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


def end(run: int, state: RunState, counts: Counts, bytes_read: int) -> None:
    """Record the end of a run, with the counts of all its lines. The row cannot be changed afterwards."""
    ImportRun.objects.filter(pk=run).update(
        state=state, bytes_read=bytes_read, updated_at=Now(), ended_at=Now(), **asdict(counts)
    )


def fail(run: int) -> None:
    """Record the failure of a run, with the counts of its last batch. The row cannot be changed afterwards."""
    ImportRun.objects.filter(pk=run).update(state=RunState.FAILED, updated_at=Now(), ended_at=Now())
