"""Lists of a user's related rows that the apps above show on the case page and in the evidence pack."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from users.models import User


@dataclass(frozen=True, slots=True)
class Section:
    """A list of a user's rows, newest first.

    name: its key in the evidence pack's data.json. permission: required to see it on the case page.
    latest: the cells of at most `count` rows, read in one statement. records: all rows, streamed, as the API has them.
    changelist: URL name of the admin's list, which takes `?user=`.
    """

    name: str
    title: Any
    permission: str
    headings: Sequence[Any]
    latest: Callable[[User, int], Sequence[Sequence[Any]]]
    records: Callable[[User], Iterable[Mapping[str, Any]]]
    changelist: str


# users must not import transactions: that app adds its sections in AppConfig.ready().
SECTIONS: list[Section] = []
