"""`manage.py import_conversions`."""

import signal
import sys
from argparse import ArgumentParser
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from pathlib import Path
from types import FrameType
from typing import IO, Any, NoReturn

from django.core.management.base import CommandError
from django.db import DatabaseError, InterfaceError, connection
from tqdm import tqdm

from partners.db import statements
from partners.management.base import Outcome, ServiceCommand
from transactions.imports import runs
from transactions.imports.importer import Importer, Rejected
from transactions.imports.sources import Interrupted, Source, SourceProblem
from transactions.imports.staging import Database, Rehearsal, Store
from transactions.models import RunState

_SIGNALS = (signal.SIGINT, signal.SIGTERM)
# As a shell tells that a signal ended a program.
_BY_SIGNAL = 128
# Python's own 5 ms, which the thread that stores would wait after each statement, are a third of a batch.
TURN_SECONDS = 0.0005


class Command(ServiceCommand):
    """Imports conversions from NDJSON, one a line; safe to run again, whole or in part."""

    help = (
        "Imports conversions from NDJSON, one a line. A compressed file: zcat FILE | manage.py import_conversions -"
        " Exit status 1 where any line was rejected or the import could not be finished."
    )

    # Why it ended before its time, if it did, and the exit status then.
    broken_off: tuple[str, int] | None = None

    def add_arguments(self, parser: ArgumentParser) -> None:
        """FILE [--rejects FILE] [--dry-run]."""
        super().add_arguments(parser)
        parser.add_argument("file", metavar="FILE", help="the file, or - for standard input")
        parser.add_argument(
            "--rejects", help="a file that takes the rejected lines, as they were (one over 64 KiB is cut there)"
        )
        parser.add_argument("--dry-run", action="store_true", help="say what an import would do, and write nothing")

    def handle(self, *args: Any, **options: Any) -> None:
        """Runs the import and prints the counts, however it ended; the exit status says whether every line is in."""
        super().handle(*args, **options)
        if self.broken_off:
            reason, status = self.broken_off
            raise CommandError(f"{reason}. {self._how_far()}", returncode=status)
        if self.importer.counts.rejected:
            raise SystemExit(1)

    def perform(self, **options: Any) -> Outcome:
        """Imports, reporting each rejected line on standard error. Raises CommandError where a file cannot be used."""
        self.is_dry_run = options["dry_run"]
        with ExitStack() as stack:
            self.interrupted_by = stack.enter_context(_signals())
            try:
                self.source = stack.enter_context(
                    Source(options["file"], interrupted=lambda: bool(self.interrupted_by))
                )
                self.rejects = _open_rejects(options["rejects"], self.source, stack) if options["rejects"] else None
            except OSError as error:
                raise CommandError(f"{error.filename}: {error.strerror}") from error
            self.progress = stack.enter_context(_progress(self.source.size))
            self._import(stack.enter_context(_worker()))
        counts = self.importer.counts
        text = f"{counts.imported} imported, {counts.unchanged} unchanged, {counts.rejected} rejected."
        return Outcome(
            {"imported": counts.imported, "unchanged": counts.unchanged, "rejected": counts.rejected},
            [f"Nothing is written; an import now would be: {text}" if self.is_dry_run else text],
        )

    def _import(self, worker: Executor) -> None:
        begun = None if self.is_dry_run else worker.submit(self._begin).result()
        store: Store = Rehearsal() if begun is None else Database(run=begun)
        self.importer = Importer(store, worker)
        state = RunState.FAILED
        try:
            for rejected in self.importer.run(self._lines()):
                self._report(rejected)
            state = (
                RunState.STOPPED if self.interrupted_by else RunState.FAILED if self.broken_off else RunState.COMPLETE
            )
        except (DatabaseError, InterfaceError) as error:
            self.broken_off = _reason(error), 1
        except BaseException:
            # The batch under way is stored and counted in its own row; nobody has counted it here.
            _note_end(worker, partial(runs.fail, begun) if begun else None)
            raise
        counts = self.importer.counts
        _note_end(worker, partial(runs.end, begun, state, counts, self.source.position) if begun else None)

    def _report(self, rejected: Rejected) -> None:
        self.progress.clear()
        self.stderr.write(f"line {rejected.number}: {rejected.reason}")
        if self.rejects:
            try:
                self.rejects.write(rejected.line.rstrip(b"\r\n") + b"\n")
            except OSError as error:
                # No further line is read; those that were are stored and counted.
                self.broken_off, self.rejects = (f"The rejects cannot be written: {error.strerror}", 1), None

    def _begin(self) -> int:
        return runs.begin(source=self.source.name, size_bytes=self.source.size)

    def _lines(self) -> Iterator[tuple[int, bytes] | None]:
        """The source's lines for as long as it can be read: what came until then is imported."""
        number = 0
        try:
            for numbered in self.source.lines():
                if self.broken_off:
                    return
                if numbered:
                    number = numbered[0]
                if numbered is None or self.source.position != self.importer.bytes_read:
                    self.importer.bytes_read = self.source.position
                    self._show(number)
                yield numbered
            self._show(number)
        except Interrupted:
            stopped_by = self.interrupted_by[0]
            self.broken_off = f"Stopped by {stopped_by.name}", _BY_SIGNAL + stopped_by
        except SourceProblem as problem:
            self.broken_off = f"The source cannot be read on: {problem}", 1
        except OSError as error:
            self.broken_off = f"The source cannot be read on: {error.strerror}", 1

    def _show(self, line: int) -> None:
        """Moves the bar to where the source is read to. line: the number of the last line."""
        self.progress.set_postfix_str(f"line {line:,}", refresh=False)
        self.progress.update(self.source.position - self.progress.n)

    def _how_far(self) -> str:
        far = f"It came as far as line {self.importer.line}"
        return f"{far}." if self.is_dry_run else f"{far}; run it again: what is in is unchanged."


def _reason(error: Exception) -> str:
    if statements.is_unreachable(error):
        return "The database cannot be reached, or did not answer in time"
    return f"The database refused a statement (SQLSTATE {statements.sqlstate(error)})"


def _note_end(worker: Executor, note: Callable[[], None] | None) -> None:
    """Has the worker note how the run ended. Without a database the run stays as its last batch left it."""
    if note is not None:
        with suppress(DatabaseError, InterfaceError):
            worker.submit(_connecting_again, note).result()


def _connecting_again(statement: Callable[[], None]) -> None:
    """Runs a statement, on a new connection where the present one is lost. Raises Django's database errors."""
    try:
        statement()
    except (DatabaseError, InterfaceError) as error:
        if not statements.is_unreachable(error):
            raise
        connection.close()
        statement()


def _progress(size_bytes: int | None) -> "tqdm[NoReturn]":
    """A bar for the bytes read, on a terminal alone. Not by way of Django's stderr, which paints errors red."""
    return tqdm(total=size_bytes, unit="B", unit_scale=True, unit_divisor=1024, file=sys.stderr, disable=None)


@contextmanager
def _signals() -> Iterator[list[signal.Signals]]:
    """Gathers the signals that ask for an end, instead of obeying at once. A second one ends the program."""
    received: list[signal.Signals] = []

    def note(number: int, _frame: FrameType | None) -> None:
        received.append(signal.Signals(number))
        for each in _SIGNALS:
            signal.signal(each, signal.SIG_DFL)

    before = {each: signal.signal(each, note) for each in _SIGNALS}
    try:
        yield received
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)


@contextmanager
def _worker() -> Iterator[Executor]:
    """One thread with a database connection of its own, which it closes.

    Whoever reads lines leaves the interpreter to it within TURN_SECONDS.
    """
    before = sys.getswitchinterval()
    sys.setswitchinterval(TURN_SECONDS)
    try:
        with ThreadPoolExecutor(1, thread_name_prefix="import") as worker:
            try:
                yield worker
            finally:
                worker.submit(_close_connection).result()
    finally:
        sys.setswitchinterval(before)


def _close_connection() -> None:
    # Looked up here, since each thread has its own.
    connection.close()


def _open_rejects(name: str, source: Source, stack: ExitStack) -> IO[bytes]:
    path = Path(name)
    # Opening the input for writing would empty it.
    if source.is_same_file(path):
        raise CommandError("--rejects names the file that is imported.")
    # Without a buffer: what cannot be written shows at once, not when the file is closed.
    return stack.enter_context(path.open("wb", buffering=0))
