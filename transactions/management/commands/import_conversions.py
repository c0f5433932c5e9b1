"""`manage.py import_conversions`."""

import os
import sys
from argparse import ArgumentParser
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import IO, Any

from django.core.management.base import CommandError
from tqdm import tqdm

from partners.management.base import Outcome, ServiceCommand
from transactions.imports import Importer
from transactions.lines import LONGEST_LINE_BYTES


class Command(ServiceCommand):
    """Imports conversions from NDJSON, one a line; safe to run again, whole or in part."""

    help = "Imports conversions from NDJSON, one a line. Exit status 1 where any line was rejected."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """FILE [--rejects FILE]."""
        super().add_arguments(parser)
        parser.add_argument("file", help="the file, or - for standard input")
        parser.add_argument(
            "--rejects", help="a file that takes the rejected lines, as they were (one over 64 KiB is cut there)"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Runs the import; the exit status says whether every line is in."""
        super().handle(*args, **options)
        if self.importer.counts.rejected:
            sys.exit(1)

    def perform(self, **options: Any) -> Outcome:
        """Imports, reporting each rejected line on standard error. Raises CommandError where a file cannot be used."""
        self.importer = Importer()
        with ExitStack() as stack:
            try:
                source = _open_source(options["file"], stack)
                rejects = _open_rejects(options["rejects"], source, stack) if options["rejects"] else None
                for rejected in self.importer.run(_numbered_lines(source)):
                    self.stderr.write(f"line {rejected.number}: {rejected.reason}")
                    if rejects:
                        rejects.write(rejected.line.rstrip(b"\r\n") + b"\n")
            except OSError as error:
                raise CommandError(f"{error.filename or options['rejects']}: {error.strerror}") from error
        counts = self.importer.counts
        return Outcome(
            {"imported": counts.imported, "unchanged": counts.unchanged, "rejected": counts.rejected},
            [f"{counts.imported} imported, {counts.unchanged} unchanged, {counts.rejected} rejected."],
        )


def _open_source(name: str, stack: ExitStack) -> IO[bytes]:
    return sys.stdin.buffer if name == "-" else stack.enter_context(Path(name).open("rb"))


def _open_rejects(name: str, source: IO[bytes], stack: ExitStack) -> IO[bytes]:
    path = Path(name)
    # Opening the input for writing would empty it.
    if path.exists() and os.path.samestat(path.stat(), os.fstat(source.fileno())):
        raise CommandError("--rejects names the file that is imported.")
    # Without a buffer: what cannot be written shows at once, not when the file is closed.
    return stack.enter_context(path.open("wb", buffering=0))


def _numbered_lines(source: IO[bytes]) -> Iterator[tuple[int, bytes]]:
    """The lines that hold anything, with a progress bar on a terminal."""
    total = Path(source.name).stat().st_size if isinstance(source.name, str) and Path(source.name).is_file() else None
    with tqdm(total=total, unit="B", unit_scale=True, disable=None, mininterval=0.5) as progress:
        number = 0
        while line := source.readline(LONGEST_LINE_BYTES):
            number += 1
            progress.update(len(line))
            if len(line) == LONGEST_LINE_BYTES and not line.endswith(b"\n"):
                while rest := source.readline(LONGEST_LINE_BYTES):
                    progress.update(len(rest))
                    if rest.endswith(b"\n"):
                        break
            if line.strip():
                yield number, line
