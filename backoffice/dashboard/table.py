"""A table of the dashboard: described once, for the page and for its CSV."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any, NamedTuple

from django.contrib.humanize.templatetags.humanize import intcomma
from django.utils.formats import date_format
from django.utils.translation import gettext as _

from backoffice.exports.spreadsheets import csv_file
from backoffice.lists.waiting_time import format_duration, format_open_time


class Cell(NamedTuple):
    """A value. text: for people. url: of the list that it counts. badge: a kind of backoffice/lists/badges.py."""

    value: Any
    text: str
    url: str = ""
    badge: str = ""
    is_quiet: bool = False


class Column(NamedTuple):
    """A column. unit: of the values in the CSV. is_below: the page has its cells below those of the one before."""

    title: str
    is_number: bool = True
    unit: str = ""
    is_below: bool = False


@dataclass(frozen=True, slots=True)
class Table:
    """A table. name: in addresses. empty: what the page says without rows. names_staff: its CSV is in the access log.

    chart: the text of the chart with the same figures; empty without one. chart_beside: where it is. is_long: the page
    scrolls it.
    """

    name: str
    title: str
    columns: Sequence[Column]
    rows: Sequence[Sequence[Cell]]
    note: str = ""
    empty: str = ""
    chart: str = ""
    chart_beside: bool = False
    is_long: bool = False
    names_staff: bool = False

    @property
    def headings(self) -> list[Column]:
        """The columns of the page."""
        return [column for column in self.columns if not column.is_below]

    @property
    def stacked_rows(self) -> list[list[tuple[Column, list[Cell]]]]:
        """The rows of the page: each column with its cell, and those below."""
        rows = []
        for row in self.rows:
            stacks: list[tuple[Column, list[Cell]]] = []
            for column, cell in zip(self.columns, row, strict=True):
                if column.is_below:
                    stacks[-1][1].append(cell)
                else:
                    stacks.append((column, [cell]))
            rows.append(stacks)
        return rows

    def csv_lines(self) -> Iterator[str]:
        """The whole as CSV; a value that there is none of is empty."""
        headings = [f"{column.title} ({column.unit})" if column.unit else column.title for column in self.columns]
        return csv_file(headings, (["" if cell.value is None else cell.value for cell in row] for row in self.rows))


def words(text: str, *, url: str = "", badge: str = "", is_quiet: bool = False) -> Cell:
    """A text."""
    return Cell(text, text, url, badge, is_quiet)


def day(value: date) -> Cell:
    """A date."""
    return Cell(value, date_format(value, "DATE_FORMAT"))


def count(value: int, url: str = "", badge: str = "") -> Cell:
    """A number; without link and badge where it is zero."""
    return Cell(value, intcomma(value), url, badge) if value else Cell(0, "0", is_quiet=True)


def percent(value: int | None, *, is_quiet: bool = False) -> Cell:
    """A share in percent; None where it is one of nothing."""
    text = "–" if value is None else _("%(number)s\u00a0%%") % {"number": value}
    return Cell(value, text, is_quiet=is_quiet)


def hours(seconds: int | None, *, is_quiet: bool = False) -> Cell:
    """A time to decision; in the CSV, hours."""
    if seconds is None:
        return Cell(None, "–", is_quiet=is_quiet)
    return Cell(round(seconds / 3600, 2), format_duration(timedelta(seconds=seconds)), is_quiet=is_quiet)


def minutes(seconds: int | None) -> Cell:
    """A time on a case; in the CSV, minutes."""
    if seconds is None:
        return Cell(None, "–")
    return Cell(round(seconds / 60, 2), format_open_time(seconds))
