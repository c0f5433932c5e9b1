"""Imports of conversions: NDJSON lines, committed in batches (docs/operations.md).

Storing a batch twice, or at the same time as another import, is safe: a killed import is simply run again.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Executor, Future
from dataclasses import dataclass, field
from typing import NamedTuple

from transactions.imports.lines import RejectedLineError, parse_line
from transactions.imports.staging import Batch, Counts, Database, Stored

BATCH = 5000
# Lines may be long: this many bytes are a batch too.
BATCH_BYTES = 8 * 1024 * 1024
# The lines that --rejects writes above rejected ones, and that an import skips. No conversion begins so.
REASON = b"# Rejected, line "


class Rejected(NamedTuple):
    """A line that was not imported. number: from 1."""

    number: int
    line: bytes
    reason: str

    def for_correction(self) -> bytes:
        """The line as it was, below its reason: once corrected, both can be imported."""
        return REASON + f"{self.number}: {self.reason}\n".encode() + self.line.rstrip(b"\r\n") + b"\n"


@dataclass
class Importer:
    """Parses lines and has them stored, in constant memory.

    executor: stores a batch while further lines are read; without one, the caller's thread and transaction do.
    """

    store: Callable[[Batch], Stored] = field(default_factory=Database)
    executor: Executor | None = None
    counts: Counts = field(default_factory=Counts)
    # Bytes of the source read so far; set by the reader of the source.
    bytes_read: int = 0
    # The number of the last line whose outcome is known.
    line: int = 0
    _batch: Batch = field(default_factory=Batch)
    _pending: tuple[Batch, Future[Stored]] | None = None

    def run(self, lines: Iterable[tuple[int, bytes] | None]) -> Iterator[Rejected]:
        """Import numbered lines, yielding the rejected ones in their order. None stores what has been read.

        Raises Django's database errors; earlier batches stay stored, and every stored line is counted.
        """
        for numbered in lines:
            if numbered is None:
                yield from self._flush()
                continue
            number, line = numbered
            self._batch.last_line = number
            try:
                self._batch.add(number, line, parse_line(line))
            except RejectedLineError as error:
                if not line.startswith(REASON):
                    self._batch.reject(number, line, str(error))
            if len(self._batch.lines) >= BATCH or self._batch.size >= BATCH_BYTES:
                yield from self._flush()
        yield from self._flush()
        yield from self._finish_pending()

    def _flush(self) -> Iterator[Rejected]:
        """Begin to store the batch when the one before it is stored."""
        yield from self._finish_pending()
        batch = self._batch
        if not batch.rows:
            # The next batch records the number of rejected lines.
            self._batch = Batch(refused=batch.refused, last_line=batch.last_line)
            self.line = batch.last_line or self.line
            yield from self._rejected(batch, batch.reasons)
            return
        self._batch, batch.bytes_read = Batch(), self.bytes_read
        if self.executor is not None:
            self._pending = batch, self.executor.submit(self.store, batch)
        else:
            done: Future[Stored] = Future()
            done.set_result(self.store(batch))
            self._pending = batch, done

    def _finish_pending(self) -> Iterator[Rejected]:
        if self._pending is None:
            return
        batch, future = self._pending
        self._pending = None
        stored = future.result()
        self.counts.imported += stored.imported
        self.counts.unchanged += stored.unchanged
        self.line = batch.last_line
        yield from self._rejected(batch, {**batch.reasons, **stored.problems})

    def _rejected(self, batch: Batch, reasons: Mapping[int, str]) -> Iterator[Rejected]:
        for number in sorted(reasons):
            self.counts.rejected += 1
            yield Rejected(number, batch.lines[number], reasons[number])
