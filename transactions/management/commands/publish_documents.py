from argparse import ArgumentParser
from collections.abc import Mapping
from concurrent.futures import Executor
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError

from transactions.imports.manifests import ManifestImporter
from transactions.management.importing import ImportCommand, Importing
from transactions.models import RunKind


class Command(ImportCommand):
    help = (
        "Publish many documents: NDJSON, one a line, of partner, externalId, file, type, title and createdAt. Exit"
        " status 1 if any line was rejected or the run could not be finished."
    )

    kind = RunKind.DOCUMENTS
    done = "published"
    metavar = "MANIFEST"

    def add_arguments(self, parser: ArgumentParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("--files", help="the folder of the files; that of MANIFEST by default")

    def importing(self, *, run: int | None, worker: Executor, options: Mapping[str, Any]) -> Importing:
        folder = Path(options["files"] or ("." if options["file"] == "-" else Path(options["file"]).parent))
        if not folder.is_dir():
            raise CommandError("--files is not a folder.")
        # The worker is not used: the audit log names who runs this thread.
        return ManifestImporter(folder=folder.resolve(), run_id=run)
