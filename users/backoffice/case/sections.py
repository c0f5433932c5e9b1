"""What a case shows of the floors above: they fill this registry in their AppConfig.ready().

users must not import transactions; the case page and the evidence pack show a user's conversions
and documents all the same.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest

from users.models import User


@dataclass(frozen=True, slots=True)
class Section:
    """A part of the case page and of the evidence pack.

    name: a key in the evidence pack's JSON. permission: what a person must hold to see it.
    headings, rows: for the page, the latest few: bounded by the section itself, one query. A cell that is a
    datetime is shown in the pages' time zone.
    records: for the evidence pack, all of them, streamed, as JSON would have them.
    all_rows: the path of the list that has them all; empty where there is none.
    """

    name: str
    title: Any
    permission: str
    headings: tuple[Any, ...]
    rows: Callable[[User, int], list[tuple[Any, ...]]]
    records: Callable[[User], Iterable[Mapping[str, Any]]]
    all_rows: Callable[[User], str] = lambda _user: ""


_sections: dict[str, Section] = {}


def register(section: Section) -> None:
    """Adds a section, or replaces the one of its name."""
    _sections[section.name] = section


def sections_for(request: HttpRequest) -> list[Section]:
    """The sections that the person may see, in the order in which they were registered."""
    return [section for section in _sections.values() if request.user.has_perm(section.permission)]


def all_sections() -> list[Section]:
    """Every section: for the evidence pack, which has a permission of its own."""
    return list(_sections.values())
