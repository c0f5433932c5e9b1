"""Documents, and the base of commands that take NDJSON (docs/operations.md)."""

import codecs
import os
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, suppress
from functools import partial
from pathlib import Path
from typing import IO, Any, BinaryIO

from django.core.management.base import CommandError
from django.db import DatabaseError, InterfaceError, connection
from psycopg.errors import LockNotAvailable, QueryCanceled
from tqdm import tqdm

from core import audit
from core.database import errors
from core.management.arguments import Argument
from core.management.base import Outcome, ServiceCommand, collected_signals, stop_for, translated_errors
from transactions.imports import MAX_LINE_BYTES, LineError
from transactions.models import IMPORT_ENDED, Document

# Lines may be long: this many bytes are a batch too.
MAX_BATCH_BYTES = 8 * 1024 * 1024
# The lines that --rejects writes above rejected ones, and that an import skips. No record begins so.
REASON = b"# Rejected, line "
# Pauses in seconds before the retries without a database.
RETRY_PAUSES = (0.5, 1, 2, 4, 8, 15)

FILE = Argument("file", metavar="FILE", help="the file, or - for standard input")
REJECTS = Argument(
    "--rejects", metavar="FILE", help="a new file for the rejected lines, each below its reason: correct and import it"
)


def find_document(document_id: str) -> Document:
    """The document with this documentId. Raises ValidationError, Document.DoesNotExist."""
    return Document.objects.get(document_id=document_id)


class LinesCommand(ServiceCommand):
    """A command that takes NDJSON: each line is done, is unchanged as it was done before, or is rejected."""

    # What has become of a line that was not there before, in one word.
    done = "imported"
    # So many lines are one transaction.
    batch_lines = 1
    records_run = True
    is_dry_run = False
    rejects: IO[bytes] | None = None

    def parse(self, line: bytes) -> Any:
        """The record of a line. Raises LineError."""
        raise NotImplementedError

    def store(self, records: Mapping[int, Any]) -> tuple[int, Mapping[int, str]]:
        """Store a batch: how many are new, and why others are rejected. May be called again. Raises CommandError."""
        raise NotImplementedError

    def perform(self, *, file: str, rejects: str | None, dry_run: bool = False) -> Outcome:
        """Store the lines."""
        self.is_dry_run = dry_run
        self.counts = {self.done: 0, "unchanged": 0, "rejected": 0}
        self.line = 0
        with ExitStack() as stack:
            if file == "-" and sys.stdin is None:
                raise CommandError("Standard input is closed.")
            source = sys.stdin.buffer if file == "-" else stack.enter_context(Path(file).open("rb"))
            if rejects:
                self.rejects = stack.enter_context(_create(rejects))
            # It is shown on a terminal alone, and not on Django's stderr, which is red. A pipe has no size.
            size = os.fstat(source.fileno()).st_size or None
            self.progress: tqdm[Any] = stack.enter_context(
                tqdm(total=size, unit="B", unit_scale=True, unit_divisor=1024, file=sys.stderr, disable=None)
            )
            self._store_all(source, Path(file).name)
        said = f"{'Dry run, nothing was written: ' if self.is_dry_run else ''}{self._counted()}."
        return Outcome(self.counts, said, status=1 if self.counts["rejected"] else 0)

    def _counted(self) -> str:
        return ", ".join(f"{number} {name}" for name, number in self.counts.items())

    def _store_all(self, source: BinaryIO, name: str) -> None:
        try:
            with translated_errors(), collected_signals() as signals:
                for batch in self._batches(source):
                    self._store_batch(batch)
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
                    audit.record(IMPORT_ENDED, object=self.name, detail={"file": name, **self.counts})

    def _batches(self, source: BinaryIO) -> Iterator[dict[int, bytes]]:
        """Lines by number, without their ends and those that are blank."""
        batch: dict[int, bytes] = {}
        size = 0
        for number, line in enumerate(iter(partial(_read_line, source), b""), start=1):
            self.progress.update(len(line))
            text = (line.removeprefix(codecs.BOM_UTF8) if number == 1 else line).rstrip(b"\r\n")
            if not text.strip() or text.startswith(REASON):
                continue
            batch[number] = text
            size += len(text)
            if len(batch) >= self.batch_lines or size >= MAX_BATCH_BYTES:
                yield batch
                batch, size = {}, 0
        if batch:
            yield batch

    def _store_batch(self, batch: Mapping[int, bytes]) -> None:
        records, reasons = dict[int, Any](), dict[int, str]()
        for number, line in batch.items():
            try:
                records[number] = self.parse(line)
            except LineError as error:
                reasons[number] = str(error)
        done, refused = self._store_through_restarts(records) if records else (0, {})
        reasons |= refused
        self.line = max(batch)
        self.counts[self.done] += done
        self.counts["unchanged"] += len(batch) - done - len(reasons)
        self.counts["rejected"] += len(reasons)
        for number, reason in sorted(reasons.items()):
            if self.rejects:
                try:
                    self.rejects.write(REASON + f"{number}: {reason}\n".encode() + batch[number] + b"\n")
                except OSError as error:
                    raise CommandError(f"The rejects cannot be written: {error.strerror}.") from error
            self.progress.clear()
            try:
                self.stderr.write(f"line {number}: {reason}")
            except OSError:
                if not self.rejects:
                    raise
                # What is left in the buffer would fail again.
                os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stderr.fileno())
        self.progress.set_postfix_str(f"line {self.line:,}")

    def _store_through_restarts(self, records: Mapping[int, Any]) -> tuple[int, Mapping[int, str]]:
        """Store a batch, retried for half a minute without a database: lines that were committed are unchanged then."""
        for pause in RETRY_PAUSES:
            try:
                return self.store(records)
            except (DatabaseError, InterfaceError) as error:
                # The lines of users who were erased meanwhile are rejected by the retry.
                checks = (errors.is_unreachable, errors.is_stale_plan, errors.is_reference_gone)
                is_timeout = isinstance(error.__cause__, (QueryCanceled, LockNotAvailable))
                if connection.in_atomic_block or is_timeout or not any(check(error) for check in checks):
                    raise
                connection.close()
            time.sleep(pause)
        return self.store(records)


def _read_line(source: BinaryIO) -> bytes:
    """The next line, of a long one a byte more than MAX_LINE_BYTES and a line end; empty at the end."""
    try:
        line = part = source.readline(MAX_LINE_BYTES + 3)
        while part and not part.endswith(b"\n"):
            part = source.readline(MAX_LINE_BYTES)
    except OSError as error:
        raise CommandError(f"The file cannot be read: {error.strerror}.") from error
    return line


def _create(name: str) -> IO[bytes]:
    """Rejected lines hold personal data: nobody else may read the file, and no other file is overwritten."""
    try:
        descriptor = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise CommandError(f"--rejects needs a new file: {name}: {error.strerror}.") from error
    # Unbuffered, so that a full disk is noticed at once.
    return open(descriptor, "wb", buffering=0)  # noqa: PTH123 - a descriptor
