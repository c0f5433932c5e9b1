from argparse import ArgumentParser
from typing import Any

from partners.management.base import Outcome, ServiceCommand, optional_rfc_3339, table, whole_number
from transactions.models import ImportRun

COLUMNS = ("id", "kind", "source", "state", "startedAt", "imported", "unchanged", "rejected", "line", "updatedAt")
HEADINGS = ("ID", "KIND", "SOURCE", "STATE", "STARTED", "IMPORTED", "UNCHANGED", "REJECTED", "LINE", "UPDATED")


class Command(ServiceCommand):
    help = "List the imports of conversions and of documents, newest first, with their progress and outcome."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--limit", type=whole_number(1, 10_000), default=20, help="the number of imports (20)")

    def perform(self, *, limit: int, **_: Any) -> Outcome:
        imports = [
            {
                "id": run.pk,
                "kind": run.kind,
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
            for run in ImportRun.objects.order_by("-id")[:limit]
        ]
        rows = [[run[column] for column in COLUMNS] for run in imports]
        return Outcome({"imports": imports}, table(HEADINGS, rows) if rows else ["There are no imports."])
