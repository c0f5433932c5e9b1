"""CSV for spreadsheets."""

import csv
import re
from collections.abc import Iterable, Iterator
from datetime import date
from typing import Any

# What makes a spreadsheet run a cell as a formula (OWASP: CSV injection); also after a semicolon, which separates cells
# in French, and a quote.
_FORMULA = re.compile(r'(\A|;)(?=[\s"]*[=+\-@＝＋－＠]|[\t\r\n])')
# Excel recognizes UTF-8 by it.
_BYTE_ORDER_MARK = "\ufeff"
CONTENT_TYPE = "text/csv; charset=utf-8"
CUT_OFF = "INCOMPLETE: this export was cut off. Export it again.\r\n"


class _Echo:
    """A file for csv.writer whose `write` returns the line."""

    def write(self, line: str) -> str:
        return line


def csv_file(headings: Iterable[str], rows: Iterable[Iterable[Any]]) -> Iterator[str]:
    """Write a heading, and a line for each row."""
    writer: Any = csv.writer(_Echo())
    yield _BYTE_ORDER_MARK
    yield writer.writerow(headings)
    for row in rows:
        yield writer.writerow(map(_cell, row))


def _cell(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if value is None:
        return ""
    return _FORMULA.sub(r"\1'", value.isoformat() if isinstance(value, date) else str(value))
