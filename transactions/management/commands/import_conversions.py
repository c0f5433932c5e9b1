from collections.abc import Mapping
from concurrent.futures import Executor
from typing import Any

from transactions.imports.importer import Importer
from transactions.imports.staging import Database, Rehearsal
from transactions.management.importing import ImportCommand, Importing
from transactions.models import RunKind


class Command(ImportCommand):
    help = (
        "Import conversions from NDJSON, one a line. For a compressed file: zcat FILE | manage.py import_conversions -"
        " Exit status 1 if any line was rejected or the import could not be finished."
    )

    kind = RunKind.CONVERSIONS

    def importing(self, *, run: int | None, worker: Executor, options: Mapping[str, Any]) -> Importing:
        return Importer(Database(run) if run else Rehearsal(), worker)
