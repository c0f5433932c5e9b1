"""A page of the queue: the rows after a place in its order, found without walking through all of it."""

import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NamedTuple

from django.db.models import Q, QuerySet

from users.backoffice.queue.filters import Criteria
from users.models import User
from users.services.risk_flags import count_risk_flags

ROWS = 50
# Counted so far and no further.
COUNTED = 1_000
# Where rows are looked at one by one, so many in a request; the page says where it stopped.
WALKED = 10_000
# The same where each costs look-ups in other rows.
WALKED_FOR_HINTS = 1_000
_BATCH = 250


class Place(NamedTuple):
    """A place in the list's order: just after this row."""

    since: datetime
    id: uuid.UUID

    @classmethod
    def parse(cls, text: str) -> "Place | None":
        """What `str` gave; None for any other text."""
        since, _, pk = text.partition("~")
        try:
            moment = datetime.fromisoformat(since)
            return cls(moment, uuid.UUID(pk)) if moment.tzinfo else None
        except ValueError:
            return None

    def __str__(self) -> str:
        return f"{self.since.isoformat()}~{self.id}"


@dataclass(slots=True)
class Page:
    """Rows of the list. hints: how many each has. following: where the next page begins, None at the end.

    total: how many there are in all, as far as was counted; None where that was not asked.
    is_cut: whether only a part of the list was looked through; is_at_cut: whether this page ends where that part does.
    """

    rows: list[User] = field(default_factory=list)
    hints: dict[uuid.UUID, int] = field(default_factory=dict)
    following: Place | None = None
    total: int | None = None
    is_cut: bool = False
    is_at_cut: bool = False

    @property
    def is_more(self) -> bool:
        """Whether there are more than were counted."""
        return self.total is not None and self.total > COUNTED


def page_of(criteria: Criteria, *, after: Place | None, sees_identity: bool) -> Page:
    """The rows after this place."""
    walk = _Walk(criteria)
    if criteria.with_hints is None:
        page = _plain(walk, after)
        page.hints = count_risk_flags(page.rows, sees_identity=sees_identity) if page.rows else {}
        return page
    return _sifted(walk, after, with_hints=criteria.with_hints, sees_identity=sees_identity)


def count(condition: Q) -> int:
    """How many users there are of a condition that an index serves, at most COUNTED + 1."""
    return User.objects.filter(condition).order_by()[: COUNTED + 1].count()


class _Walk:
    """The list's order, from a place on."""

    def __init__(self, criteria: Criteria) -> None:
        self.since = criteria.view.since
        self.ranged = criteria.ranged
        self.found = criteria.found
        self.narrow = criteria.narrow

    def place_of(self, user: User) -> Place:
        return Place(getattr(user, self.since), user.pk)

    def rows(self, after: Place | None, until: Place | None) -> QuerySet[User]:
        rows = self._ordered(after).filter(self.narrow)
        if self.found is not None:
            rows = rows.filter(self.found)
        return rows if until is None else rows.filter(self._beside(until, "lt", "lte"))

    def end(self, after: Place | None) -> Place | None:
        """Where to stop so that at most WALKED rows are looked at; None where that is not needed or not reached."""
        if self.found is not None or not self.narrow:
            return None
        places = self._ordered(after).values_list(self.since, "pk")[WALKED - 1 : WALKED]
        return next((Place(*place) for place in places), None)

    def _ordered(self, after: Place | None) -> QuerySet[User]:
        rows = User.objects.filter(self.ranged).order_by(self.since, "id")
        return rows if after is None else rows.filter(self._beside(after, "gt", "gt"))

    def _beside(self, place: Place, side: str, side_of_id: str) -> Q:
        # The first condition says nothing new; it is the one that the index takes as its range.
        bound = Q((f"{self.since}__{side}e", place.since))
        return bound & (Q((f"{self.since}__{side}", place.since)) | Q((f"id__{side_of_id}", place.id)))


def _plain(walk: _Walk, after: Place | None) -> Page:
    until = walk.end(after)
    # The first page says how many there are: their places come with it, so that they are walked once.
    wanted = ROWS if after else COUNTED
    places = [Place(*place) for place in walk.rows(after, until).values_list(walk.since, "pk")[: wanted + 1]]
    shown = places[:ROWS]
    page = Page(rows=_load(shown), total=None if after else len(places))
    page.is_cut = until is not None and len(places) <= wanted
    page.is_at_cut = page.is_cut and len(places) <= ROWS
    page.following = shown[-1] if len(places) > ROWS else until
    return page


def _load(places: list[Place]) -> list[User]:
    related: Any = User.objects.select_related("partner", "claim__staff")
    users = related.in_bulk([place.id for place in places])
    # One that was decided in between has moved on in the order, but stays where it was on this page.
    return [users[place.id] for place in places if place.id in users]


def _sifted(walk: _Walk, after: Place | None, *, with_hints: bool, sees_identity: bool) -> Page:
    """Rows that have hints, or have none: what hints are is known to users/services/risk_flags.py alone."""
    page = Page()
    until, looked_at = walk.end(after), 0
    for batch in _batches(walk, after, until):
        hints = count_risk_flags(batch, sees_identity=sees_identity)
        for user in batch:
            if len(page.rows) == ROWS:
                return page
            page.following = walk.place_of(user)
            if bool(hints[user.pk]) is with_hints:
                page.rows.append(user)
                page.hints[user.pk] = hints[user.pk]
        looked_at += len(batch)
        if looked_at >= WALKED_FOR_HINTS:
            page.is_cut = page.is_at_cut = True
            return page
    page.following, page.is_cut, page.is_at_cut = until, until is not None, until is not None
    return page


def _batches(walk: _Walk, after: Place | None, until: Place | None) -> Iterator[list[User]]:
    # A set that was found is found anew for each batch.
    size = _BATCH if walk.found is None else WALKED_FOR_HINTS
    while True:
        batch = list(walk.rows(after, until).select_related("partner", "claim__staff")[:size])
        if batch:
            yield batch
        if len(batch) < size:
            return
        after = walk.place_of(batch[-1])
