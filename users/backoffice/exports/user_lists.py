"""A list of users as a file: CSV for spreadsheets, NDJSON for programs."""

import csv
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date
from typing import Any

from django.db.models import QuerySet

from users.backoffice.exports.records import USER, Record, dump, records
from users.backoffice.exports.streams import in_chunks
from users.models import User

# What makes a spreadsheet run a cell as a formula (OWASP: CSV injection); also after a semicolon, which separates cells
# in French.
_FORMULA = re.compile(r"(\A|;)(?=\s*[=+\-@＝＋－＠]|[\t\r\n])")
# By this Excel recognizes UTF-8.
_BYTE_ORDER_MARK = "\ufeff"


def as_csv(users: QuerySet[User]) -> Iterator[bytes]:
    """Write a heading, and a line for each user."""
    return in_chunks(_csv_lines(users))


def as_ndjson(users: QuerySet[User]) -> Iterator[bytes]:
    """Write a JSON object per line for each user."""
    return in_chunks(f"{dump(record)}\n" for record in _records(users))


@dataclass(frozen=True, slots=True)
class Format:
    """A file format. cut_off: the last line of an incomplete file."""

    content_type: str
    write: Callable[[QuerySet[User]], Iterator[bytes]]
    cut_off: str


# By the file name's extension.
FORMATS = {
    "csv": Format("text/csv; charset=utf-8", as_csv, "INCOMPLETE: this export was cut off. Export it again.\r\n"),
    "ndjson": Format("application/x-ndjson", as_ndjson, '{"error":"incomplete"}\n'),
}


class _Echo:
    """A file for csv.writer whose `write` returns the line."""

    def write(self, line: str) -> str:
        return line


def _csv_lines(users: QuerySet[User]) -> Iterator[str]:
    writer: Any = csv.writer(_Echo())
    yield _BYTE_ORDER_MARK
    yield writer.writerow(USER)
    for record in _records(users):
        yield writer.writerow(map(_cell, record.values()))


def _records(users: QuerySet[User]) -> Iterator[Record]:
    # In the order of an index: the first row is sent at once.
    return records(users.order_by("status", "created_at", "id"), USER)


def _cell(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return _FORMULA.sub(r"\1'", value.isoformat() if isinstance(value, date) else str(value))
