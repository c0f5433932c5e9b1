"""`manage.py list_imports`."""

from argparse import ArgumentParser
from typing import Any

from partners.management.base import Outcome, ServiceCommand, optional_rfc_3339, table, whole_number
from transactions.imports import runs

_MOST = 10_000


class Command(ServiceCommand):
    """Lists the imports of conversions."""

    help = "Lists the imports of conversions, newest first: how far each came, and how it ended."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """[--limit N]."""
        super().add_arguments(parser)
        parser.add_argument("--limit", type=whole_number(1, _MOST), default=20, help="how many to show (20)")

    def perform(self, *, limit: int, **_: Any) -> Outcome:
        """The latest of them."""
        imports = [
            {
                "id": run.pk,
                "source": run.source,
                "state": run.state,
                "startedAt": optional_rfc_3339(run.started_at),
                "updatedAt": optional_rfc_3339(run.updated_at),
                "endedAt": optional_rfc_3339(run.ended_at),
                "sizeBytes": run.size_bytes,
                "bytesRead": run.bytes_read,
                "line": run.line,
                "imported": run.imported,
                "unchanged": run.unchanged,
                "rejected": run.rejected,
            }
            for run in runs.latest(limit)
        ]
        headings = ("ID", "SOURCE", "STATE", "STARTED", "IMPORTED", "UNCHANGED", "REJECTED", "LINE", "UPDATED")
        names = ("id", "source", "state", "startedAt", "imported", "unchanged", "rejected", "line", "updatedAt")
        rows = [[run[name] for name in names] for run in imports]
        return Outcome({"imports": imports}, table(headings, rows) if rows else ["There are no imports."])
