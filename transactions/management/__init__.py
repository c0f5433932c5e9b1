"""The base of commands that take NDJSON (docs/operations.md)."""

import os
import stat
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from itertools import chain, count, islice
from pathlib import Path
from typing import IO, BinaryIO, NoReturn

from django.core.management.base import CommandError
from django.db import DatabaseError, InterfaceError, connection
from psycopg.errors import LockNotAvailable, QueryCanceled
from tqdm import tqdm

from core import audit
from core.database import errors
from core.management.arguments import Argument
from core.management.base import Outcome, ServiceCommand, collected_signals, standard_input, stop_for, translated_errors
from transactions.imports import MAX_LINE_BYTES
from transactions.models import IMPORT_ENDED

# Lines may be long: this many bytes are a batch too.
MAX_BATCH_BYTES = 8 * 1024 * 1024
# The lines that --rejects writes above rejected ones, and that an import skips. No record begins so.
REASON = b"# Rejected, line "
# Pauses in seconds before the retries without a database.
RETRY_PAUSES = (0.5, 1, 2, 4, 8, 15)

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"

# Lines with their numbers, from 1.
Lines = Iterator[tuple[int, bytes]]


REJECTS = Argument(
    "--rejects", metavar="FILE", help="a new file for the rejected lines, each below its reason: correct and import it"
)


def lines_file(metavar: str) -> Argument:
    """The file of a LinesCommand."""
    return Argument("file", metavar=metavar, help="the file, or - for standard input")


class LinesCommand(ServiceCommand):
    """A command that takes NDJSON: each line is done, is unchanged as it was done before, or is rejected.

    Its arguments are `lines_file`, REJECTS and, where it has it, DRY_RUN.
    """

    # What has become of a line that was not there before, in one word.
    done = "imported"
    # So many lines are one transaction.
    batch_lines = 1
    records_run = True
    is_dry_run = False
    rejects: IO[bytes] | None = None

    def store(self, lines: Sequence[tuple[int, bytes]]) -> tuple[int, Mapping[int, str]]:
        """Store a batch: how many lines are new, and why others are rejected, by number. The rest is unchanged.

        It is called again after a lost connection. Raises CommandError where the run has to end.
        """
        raise NotImplementedError

    def perform(self, *, file: str, rejects: str | None, dry_run: bool = False) -> Outcome:
        """Store the lines."""
        self.is_dry_run = dry_run
        self.counts = {self.done: 0, "unchanged": 0, "rejected": 0}
        self.bytes_read = self.line = 0
        with ExitStack() as stack:
            source = standard_input() if file == "-" else stack.enter_context(Path(file).open("rb"))
            if rejects:
                self.rejects = _create(rejects, stack)
            status = os.fstat(source.fileno())
            size = status.st_size if stat.S_ISREG(status.st_mode) else None
            # It is shown on a terminal alone, and not on Django's stderr, which is red.
            self.progress: tqdm[NoReturn] = stack.enter_context(
                tqdm(total=size, unit="B", unit_scale=True, unit_divisor=1024, file=sys.stderr, disable=None)
            )
            self._store_all(self._lines(source), source=Path(file).name)
        text = f"{self._counted()}."
        said = f"Dry run, nothing was written: {text}" if self.is_dry_run else text
        return Outcome(self.counts, said, status=1 if self.counts["rejected"] else 0)

    def _store_all(self, lines: Lines, source: str) -> None:
        head = list(islice(lines, 2))
        _refuse_other_format([line for _, line in head])
        try:
            with translated_errors(), collected_signals() as signals:
                for batch in self._batches(chain(head, lines)):
                    self._report(batch, *self._store_through_restarts(batch))
                    stop_for(signals)
        except CommandError as error:
            again = "" if self.is_dry_run else f" Run it again: lines {self.done} already are unchanged."
            ended = f"{error} The last line processed is {self.line} ({self._counted()}).{again}"
            raise CommandError(ended, returncode=error.returncode) from error
        finally:
            if not self.is_dry_run:
                if not connection.in_atomic_block:
                    connection.close_if_unusable_or_obsolete()
                # Without a database there is no entry; that of the command's start is there.
                with suppress(DatabaseError, InterfaceError):
                    audit.record(IMPORT_ENDED, object=self.name, detail={"file": source, **self.counts})

    def _counted(self) -> str:
        return ", ".join(f"{number} {name}" for name, number in self.counts.items())

    def _store_through_restarts(self, batch: Sequence[tuple[int, bytes]]) -> tuple[int, Mapping[int, str]]:
        """Store a batch; without a database it is retried for about half a minute.

        After a commit whose answer was lost, the retry finds its lines unchanged, and counts them so.
        """
        for pause in RETRY_PAUSES:
            try:
                return self.store(batch)
            except (DatabaseError, InterfaceError) as error:
                # A retry does not help inside the caller's transaction, or after a timeout.
                if connection.in_atomic_block or isinstance(error.__cause__, (QueryCanceled, LockNotAvailable)):
                    raise
                # Users who were erased meanwhile: now their lines are rejected.
                if not errors.is_reference_gone(error):
                    if not errors.is_unreachable(error) and not errors.is_stale_plan(error):
                        raise
                    connection.close()
            time.sleep(pause)
        return self.store(batch)

    def _report(self, batch: Sequence[tuple[int, bytes]], done: int, reasons: Mapping[int, str]) -> None:
        self.line = batch[-1][0]
        self.counts[self.done] += done
        self.counts["unchanged"] += len(batch) - done - len(reasons)
        self.counts["rejected"] += len(reasons)
        for number, line in batch:
            if number not in reasons:
                continue
            self.progress.clear()
            self.stderr.write(f"line {number}: {reasons[number]}")
            if self.rejects:
                try:
                    self.rejects.write(REASON + f"{number}: {reasons[number]}\n".encode() + line + b"\n")
                except OSError as error:
                    raise CommandError(f"The rejects cannot be written: {error.strerror}.") from error
        self.progress.set_postfix_str(f"line {self.line:,}", refresh=False)
        self.progress.update(self.bytes_read - self.progress.n)

    def _batches(self, lines: Lines) -> Iterator[list[tuple[int, bytes]]]:
        batch: list[tuple[int, bytes]] = []
        size = 0
        for number, line in lines:
            if line.startswith(REASON):
                continue
            batch.append((number, line))
            size += len(line)
            if len(batch) >= self.batch_lines or size >= MAX_BATCH_BYTES:
                yield batch
                batch, size = [], 0
        if batch:
            yield batch

    def _lines(self, source: BinaryIO) -> Lines:
        """Lines that are not blank, without their ends; those that are too long are truncated after the limit."""
        for number in count(1):
            try:
                line = part = source.readline(MAX_LINE_BYTES + 3)
                self.bytes_read += len(part)
                while part and not part.endswith(b"\n"):
                    part = source.readline(MAX_LINE_BYTES)
                    self.bytes_read += len(part)
            except OSError as error:
                raise CommandError(f"The file cannot be read: {error.strerror}.") from error
            if not line:
                return
            line = (line.removeprefix(_BYTE_ORDER_MARK) if number == 1 else line).rstrip(b"\r\n")
            if line.strip():
                yield number, line[: MAX_LINE_BYTES + 1]


def _create(name: str, stack: ExitStack) -> IO[bytes]:
    """Rejected lines hold personal data: nobody else may read the file, and no other file is overwritten."""
    try:
        descriptor = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise CommandError(f"--rejects needs a new file: {name}: {error.strerror}.") from error
    # Unbuffered, so that a full disk is noticed at once.
    return stack.enter_context(open(descriptor, "wb", buffering=0))  # noqa: PTH123 - a descriptor


def _refuse_other_format(first_lines: Sequence[bytes]) -> None:
    """Raise CommandError if none of the first two lines can be an object: CSV, a compressed file, UTF-16, an array."""
    if first_lines and not any(line.startswith((b"{", REASON)) and b"\0" not in line for line in first_lines):
        raise CommandError("This is not NDJSON in UTF-8: neither of its first two lines begins a JSON object.")
