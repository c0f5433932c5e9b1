"""A list of users as a file: CSV for spreadsheets, NDJSON for programs."""

import csv
import re
from collections.abc import Callable, Iterator
from datetime import date
from typing import Any, NamedTuple

from django.db.models import QuerySet

from users.backoffice.exports.records import USER, Record, dump, records
from users.models import User

# What makes a spreadsheet run a cell as a formula (OWASP: CSV injection); also after a semicolon, which separates cells
# in French.
_FORMULA = re.compile(r"(\A|;)(?=\s*[=+\-@＝＋－＠]|[\t\r\n])")
# By this Excel recognizes UTF-8.
_BYTE_ORDER_MARK = "\ufeff"


class _Echo:
    """A file for csv.writer whose `write` returns the line."""

    def write(self, line: str) -> str:
        return line


def csv_lines(users: QuerySet[User]) -> Iterator[str]:
    """Write a heading, and a line for each user."""
    writer: Any = csv.writer(_Echo())
    yield _BYTE_ORDER_MARK
    yield writer.writerow(USER)
    for record in _records(users):
        yield writer.writerow(map(_cell, record.values()))


def ndjson_lines(users: QuerySet[User]) -> Iterator[str]:
    """Write a JSON object for each user."""
    return (f"{dump(record)}\n" for record in _records(users))


def _records(users: QuerySet[User]) -> Iterator[Record]:
    # In the order of an index: the first row is sent at once.
    return records(users.order_by("status", "created_at", "id"), USER)


def _cell(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return _FORMULA.sub(r"\1'", value.isoformat() if isinstance(value, date) else str(value))


class Format(NamedTuple):
    """A file format. cut_off: the last line of an incomplete file."""

    content_type: str
    lines: Callable[[QuerySet[User]], Iterator[str]]
    cut_off: str


# By the file name's extension.
FORMATS = {
    "csv": Format("text/csv; charset=utf-8", csv_lines, "INCOMPLETE: this export was cut off. Export it again.\r\n"),
    "ndjson": Format("application/x-ndjson", ndjson_lines, '{"error":"incomplete"}\n'),
}
