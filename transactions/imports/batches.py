"""Batches of lines that are stored together."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from transactions.imports.lines import ImportedConversion

BATCH = 5000
# Lines may be long: this many bytes are a batch too.
BATCH_BYTES = 8 * 1024 * 1024


class Stored(NamedTuple):
    """The outcome of a batch. problems: the reasons of rejected lines by number."""

    imported: int
    unchanged: int
    problems: Mapping[int, str]


@dataclass
class Batch:
    """Lines by number. Each conversionId is stored once; identical lines after its first one are repeats.

    rows: in COPY's text format. repeats: numbers of repeats with that of the first line. refused: the number of
    malformed lines since the batch before. bytes_read: of the source, up to the end of the batch.
    """

    lines: dict[int, bytes] = field(default_factory=dict)
    rows: list[str] = field(default_factory=list)
    repeats: dict[int, int] = field(default_factory=dict)
    refused: int = 0
    bytes_read: int = 0
    _conversions: dict[int, ImportedConversion] = field(default_factory=dict)
    _first: dict[tuple[str, str], int] = field(default_factory=dict)
    _size: int = 0

    def add(self, number: int, line: bytes, conversion: ImportedConversion) -> bool:
        """Add a line. False if it contradicts one of the batch, which must be stored first."""
        first = self._first.setdefault((conversion.partner, conversion.conversion_id), number)
        if first == number:
            self._conversions[number] = conversion
            self.rows.append(_copy_row(number, conversion))
        elif self._conversions[first] == conversion:
            self.repeats[number] = first
        else:
            return False
        self.lines[number] = line
        self._size += len(line)
        return True

    @property
    def is_full(self) -> bool:
        """Whether it is to be stored now."""
        return len(self.lines) >= BATCH or self._size >= BATCH_BYTES

    @property
    def last_line(self) -> int:
        """The highest number."""
        return max(self.lines)

    def outcome(self, imported: int, problems: Mapping[int, str]) -> Stored:
        """The outcome with the repeats. imported: new rows. problems: of the rows."""
        repeated = {number: problems[first] for number, first in self.repeats.items() if first in problems}
        unchanged = len(self.lines) - imported - len(problems) - len(repeated)
        return Stored(imported, unchanged, {**problems, **repeated})


def _copy_row(number: int, c: ImportedConversion) -> str:
    """A line in COPY's text format. Of the characters to escape, only a backslash can occur, in an externalId."""
    external_id = c.external_id.replace("\\", "\\\\")
    return (
        f"{number}\t{c.partner}\t{external_id}\t{c.conversion_id}\t{c.created_at.isoformat()}\t{c.type}\t"
        f"{c.from_currency}\t{c.from_amount}\t{c.to_currency}\t{c.to_amount}\t{c.rate}\n"
    )
