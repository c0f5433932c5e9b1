"""Conversions in: NDJSON lines, committed in batches (docs/operations.md).

Lines are checked here and stored by batches (transactions/imports/staging.py). Storing a batch twice, or beside another
import, is safe, so an import that was killed is simply run again.
"""

from collections.abc import Iterable, Iterator
from concurrent.futures import Executor, Future
from dataclasses import dataclass, field

from transactions.imports.lines import ImportedConversion, LineProblem, parse_line
from transactions.imports.runs import Counts
from transactions.imports.staging import Batch, Database, Store, Stored, row

BATCH = 5000
# So many bytes of lines are a batch too: lines may be long.
BATCH_BYTES = 8 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Rejected:
    """A line that was not imported. number: from 1."""

    number: int
    line: bytes
    reason: str


@dataclass
class _Lines:
    """What is gathered for a batch."""

    # By number; a repeat is a line that says what an earlier one of the batch says.
    taken: dict[int, bytes] = field(default_factory=dict)
    conversions: dict[int, ImportedConversion] = field(default_factory=dict)
    rows: list[str] = field(default_factory=list)
    repeats: dict[int, int] = field(default_factory=dict)
    first: dict[tuple[str, str], int] = field(default_factory=dict)
    size: int = 0
    refused: int = 0

    def take(self, number: int, line: bytes, conversion: ImportedConversion) -> bool:
        """Adds a line; False where it contradicts one that is here: that one must be stored before."""
        first = self.first.setdefault((conversion.partner, conversion.conversion_id), number)
        if first == number:
            self.conversions[number] = conversion
            self.rows.append(row(number, conversion))
        elif self.conversions[first] == conversion:
            self.repeats[number] = first
        else:
            return False
        self.taken[number] = line
        self.size += len(line)
        return True

    @property
    def are_enough(self) -> bool:
        return len(self.taken) >= BATCH or self.size >= BATCH_BYTES


@dataclass
class Importer:
    """Takes lines and has them stored; constant in memory.

    store: what takes the batches. beside: where it runs, one batch after the other, while further lines are read;
    without it everything happens here, in the caller's transaction if there is one.
    """

    store: Store = field(default_factory=Database)
    beside: Executor | None = None
    counts: Counts = field(default_factory=Counts)
    # How many bytes of the source were read; whoever reads it says so.
    bytes_read: int = 0
    # The number of the last line of which it is known what became of it.
    line: int = 0
    _lines: _Lines = field(default_factory=_Lines)
    _under_way: tuple[_Lines, Batch, Future[Stored]] | None = None

    def run(self, lines: Iterable[tuple[int, bytes] | None]) -> Iterator[Rejected]:
        """Imports numbered lines, yielding those that it rejects; None asks for what has come to be stored.

        Raises Django's database errors; lines stored before stay, and none is stored without being counted.
        """
        for numbered in lines:
            if numbered is None:
                yield from self._flush()
                continue
            number, line = numbered
            try:
                conversion = parse_line(line)
            except LineProblem as problem:
                self._lines.refused += 1
                yield self._reject(number, line, str(problem))
                continue
            if not self._lines.take(number, line, conversion):
                yield from self._flush()
                self._lines.take(number, line, conversion)
            if self._lines.are_enough:
                yield from self._flush()
        yield from self._flush()
        yield from self._settle()

    def _flush(self) -> Iterator[Rejected]:
        """Hands over what was gathered, once the batch before is stored."""
        yield from self._settle()
        gathered = self._lines
        if not gathered.taken:
            return
        self._lines = _Lines()
        last = max(gathered.taken)
        batch = Batch(gathered.rows, gathered.repeats, gathered.refused, last, self.bytes_read)
        self._under_way = gathered, batch, self._begin(batch)

    def _begin(self, batch: Batch) -> Future[Stored]:
        if self.beside is not None:
            return self.beside.submit(self.store, batch)
        done: Future[Stored] = Future()
        done.set_result(self.store(batch))
        return done

    def _settle(self) -> Iterator[Rejected]:
        if self._under_way is None:
            return
        gathered, batch, storing = self._under_way
        self._under_way = None
        stored = storing.result()
        self.counts.imported += stored.imported
        self.counts.unchanged += stored.unchanged
        self.line = batch.last_line
        for number in sorted(stored.problems):
            yield self._reject(number, gathered.taken[number], stored.problems[number])

    def _reject(self, number: int, line: bytes, reason: str) -> Rejected:
        self.counts.rejected += 1
        return Rejected(number, line, reason)
