"""The base of commands that import NDJSON (docs/operations.md)."""

import sys
from argparse import ArgumentParser
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import IO, Any, NoReturn, Protocol

from django.core.management.base import CommandError
from django.db import DatabaseError, InterfaceError, connection
from django.db.models.functions import Now
from tqdm import tqdm

from partners.db import statements
from partners.management.base import (
    STATUS_OF_SIGNALS,
    Outcome,
    ServiceCommand,
    collected_signals,
    unreachable,
)
from transactions.documents.publishing import StorageError
from transactions.imports.importer import Rejected
from transactions.imports.sources import Interrupted, OtherFormatError, Source
from transactions.imports.staging import Counts
from transactions.models import ImportRun, RunKind, RunState

# By default Python switches threads every 5 ms. The thread that stores waits that long after each statement, which
# makes a third of a batch's time.
SWITCH_SECONDS = 0.0005


class Importing(Protocol):
    """What imports lines. bytes_read: of the source so far. line: the number of the last one whose outcome is known."""

    counts: Counts
    bytes_read: int
    line: int

    def run(self, lines: Iterable[tuple[int, bytes] | None]) -> Iterator[Rejected]:
        """Import numbered lines, yielding the rejected ones in their order. None is a pause of the source."""


class ImportCommand(ServiceCommand):
    """A command that imports lines, each or none: with a rehearsal, rejects, progress and a record of the run."""

    kind: RunKind
    # What has become of a line that was not there before, in one word.
    done = "imported"
    metavar = "FILE"
    # Why the import ended early, and the exit status.
    failure: tuple[str, int] | None = None
    rejects: IO[bytes] | None = None

    records_run = True

    def add_arguments(self, parser: ArgumentParser) -> None:
        """The file, --rejects and --dry-run."""
        parser.add_argument("file", metavar=self.metavar, help="the file, or - for standard input")
        parser.add_argument(
            "--rejects", help="a file for the rejected lines, each below its reason: correct and import it"
        )
        parser.add_argument("--dry-run", action="store_true", help="report what an import would do, and write nothing")

    def handle(self, *args: Any, **options: Any) -> None:
        """Run the command; exit status 1, or that of a signal, unless each line was imported."""
        super().handle(*args, **options)
        if self.failure:
            reason, status = self.failure
            advice = "" if self.is_dry_run else f" Run it again: lines {self.done} already are unchanged."
            raise CommandError(f"{reason}. The last line processed is {self.importer.line}.{advice}", returncode=status)

    def perform(self, **options: Any) -> Outcome:
        """Import the lines."""
        self.is_dry_run = options["dry_run"]
        with ExitStack() as stack:
            self.signals = stack.enter_context(collected_signals())
            try:
                self.source = stack.enter_context(
                    closing(Source(options["file"], command=self.name, interrupted=lambda: bool(self.signals)))
                )
                if options["rejects"]:
                    rejects = Path(options["rejects"])
                    # Opening the source for writing would empty it.
                    if self.source.is_same_file(rejects):
                        raise CommandError("--rejects names the file that is imported.")
                    # Unbuffered, so that a full disk is noticed at once.
                    self.rejects = stack.enter_context(rejects.open("wb", buffering=0))
            except OSError as error:
                raise CommandError(f"{error.filename}: {error.strerror}") from error
            # It is shown on a terminal alone, and not on Django's stderr, which is red.
            self.progress: tqdm[NoReturn] = stack.enter_context(
                tqdm(
                    total=self.source.size, unit="B", unit_scale=True, unit_divisor=1024, file=sys.stderr, disable=None
                )
            )
            self._import(stack.enter_context(_worker()), options)
        counts = self.importer.counts
        data = {self.done: counts.imported, "unchanged": counts.unchanged, "rejected": counts.rejected}
        text = f"{', '.join(f'{number} {name}' for name, number in data.items())}."
        lines = [f"Dry run, nothing was written: {text}" if self.is_dry_run else text]
        return Outcome(data, lines, status=1 if counts.rejected and not self.failure else 0)

    def importing(self, *, run: int | None, worker: Executor, options: Mapping[str, Any]) -> Importing:
        """What imports the lines. run: of the ImportRun; None for a rehearsal. worker: has its own connection."""
        raise NotImplementedError

    def _import(self, worker: Executor, options: Mapping[str, Any]) -> None:
        create = partial(ImportRun.objects.create, kind=self.kind, source=self.source.name, size_bytes=self.source.size)
        run = None if self.is_dry_run else worker.submit(create).result().pk
        state = RunState.FAILED
        try:
            self.importer = self.importing(run=run, worker=worker, options=options)
            for rejected in self.importer.run(self._lines()):
                self._report(rejected)
            if not self.failure:
                state = RunState.COMPLETE
            elif self.signals:
                state = RunState.STOPPED
        except StorageError as error:
            self.failure = str(error).rstrip("."), 1
        except (DatabaseError, InterfaceError) as error:
            refused = f"The database refused a statement (SQLSTATE {statements.sqlstate(error)})"
            self.failure = unreachable(error).rstrip(".") if statements.is_unreachable(error) else refused, 1
        except BaseException:
            # The record has the counts of the batch being stored; this process has not.
            if run:
                _finish(worker, run, state)
            raise
        if run:
            importer = self.importer
            _finish(worker, run, state, bytes_read=self.source.position, line=importer.line, **asdict(importer.counts))

    def _report(self, rejected: Rejected) -> None:
        self.progress.clear()
        self.stderr.write(f"line {rejected.number}: {rejected.reason}")
        if self.rejects:
            try:
                self.rejects.write(rejected.for_correction())
            except OSError as error:
                # Reading stops; the lines read so far are stored and counted.
                self.failure, self.rejects = (f"The rejects cannot be written: {error.strerror}", 1), None

    def _lines(self) -> Iterator[tuple[int, bytes] | None]:
        number = 0
        try:
            for numbered in self.source.lines():
                if self.failure:
                    return
                if numbered:
                    number = numbered[0]
                if numbered is None or self.source.position != self.importer.bytes_read:
                    self.importer.bytes_read = self.source.position
                    self._show_progress(number)
                yield numbered
            self._show_progress(number)
        except Interrupted:
            self.failure = f"Stopped by {self.signals[0].name}", STATUS_OF_SIGNALS + self.signals[0]
        except OtherFormatError as error:
            raise CommandError(str(error)) from None
        except OSError as error:
            self.failure = f"The source cannot be read: {error.strerror}", 1

    def _show_progress(self, line: int) -> None:
        self.progress.set_postfix_str(f"line {line:,}", refresh=False)
        self.progress.update(self.source.position - self.progress.n)


def _finish(worker: Executor, run: int, state: RunState, **fields: int) -> None:
    """Record a run's end on a new connection. Without a database the record stays as its last batch left it."""

    def record() -> None:
        connection.close()
        ImportRun.objects.filter(pk=run).update(state=state, updated_at=Now(), ended_at=Now(), **fields)

    with suppress(DatabaseError, InterfaceError):
        worker.submit(record).result()


@contextmanager
def _worker() -> Iterator[Executor]:
    """One thread with its own database connection."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(SWITCH_SECONDS)
    try:
        with ThreadPoolExecutor(1, thread_name_prefix="import") as worker:
            try:
                yield worker
            finally:
                # A function, because each thread has a connection of its own.
                worker.submit(lambda: connection.close()).result()  # noqa: PLW0108
    finally:
        sys.setswitchinterval(before)
