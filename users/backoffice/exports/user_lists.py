"""A list of users as a file: CSV for spreadsheets, NDJSON for programs; streamed in the order of an index."""

import csv
import io
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date
from typing import Any

import orjson
from django.db.models import QuerySet

from users.backoffice.exports.evidence_pack import PROFILE, profile
from users.backoffice.exports.streams import ROWS_AT_ONCE, in_pieces
from users.models import User

# With these a spreadsheet takes a text for a formula and runs it (OWASP: CSV injection). After a semicolon too: where
# that separates cells, as in French, a cell begins there.
_FORMULA = re.compile(r"(\A|;)(?=\s*[=+\-@＝＋－＠]|[\t\r\n])")
# By this Excel knows that the file is UTF-8.
_BYTE_ORDER_MARK = "\ufeff"


def as_csv(users: QuerySet[User]) -> Iterator[bytes]:
    """A heading and a line for each user."""
    return in_pieces(_lines(users))


def as_ndjson(users: QuerySet[User]) -> Iterator[bytes]:
    """An object for each user, a line each."""
    return in_pieces(
        orjson.dumps(profile(user), default=str, option=orjson.OPT_UTC_Z | orjson.OPT_APPEND_NEWLINE).decode()
        for user in _rows(users)
    )


@dataclass(frozen=True, slots=True)
class Format:
    """How a list is written. cut_off: its last line where it is not complete."""

    content_type: str
    write: Callable[[QuerySet[User]], Iterator[bytes]]
    cut_off: str


# By the ending of the file's name.
FORMATS = {
    "csv": Format("text/csv; charset=utf-8", as_csv, "INCOMPLETE: this export was cut off. Export it again.\r\n"),
    "ndjson": Format("application/x-ndjson", as_ndjson, '{"error":"incomplete"}\n'),
}


def harmless(text: str) -> str:
    """A cell that a spreadsheet shows and does not run: before a formula there is an apostrophe."""
    return _FORMULA.sub(r"\1'", text)


def _rows(users: QuerySet[User]) -> Iterator[User]:
    ordered = users.select_related("partner").order_by("status", "created_at", "id")
    return ordered.iterator(chunk_size=ROWS_AT_ONCE)


def _lines(users: QuerySet[User]) -> Iterator[str]:
    line = io.StringIO(newline="")
    writer = csv.writer(line)
    yield _BYTE_ORDER_MARK
    writer.writerow(PROFILE)
    for user in _rows(users):
        writer.writerow([_cell(value) for value in profile(user).values()])
        yield line.getvalue()
        line.seek(0)
        line.truncate()
    yield line.getvalue()


def _cell(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return harmless(value.isoformat() if isinstance(value, date) else str(value))
