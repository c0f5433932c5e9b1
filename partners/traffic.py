"""What a partner's requests were answered, and how far its clock is from ours: for staff and for reports.

Counted are requests of which it is known whose key they carry. That leaves out what is answered before anybody is
known (contract, section 1): unknown paths, wrong methods, bodies that are too large. How counts come to the
database is partners/tallies.py.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from http import HTTPStatus
from itertools import accumulate
from typing import NamedTuple

from partners import sql, tallies
from partners.troubles import UNAUTHORIZED


def count(key_id: int, status: int, *, replayed: bool, skew_seconds: float) -> None:
    """Counts one answer to a request that a key has signed. Refusals are counted by partners/troubles.py.

    replayed: whether the answer is that of an earlier request (contract, section 4).
    skew_seconds: by how much the sender's clock is ahead of ours.
    """
    seen = tallies.Seen(tallies.present_hour(), key_id, status, replayed, "", tallies.tenths(skew_seconds))
    tallies.add(seen)


class Hour(NamedTuple):
    """A whole hour and its requests."""

    begins: datetime
    requests: int


@dataclass(frozen=True, slots=True)
class Traffic:
    """A partner's requests within a period. by_status: of each HTTP status that was given, lowest first."""

    by_status: Mapping[int, int]
    replayed: int
    busiest: Hour | None

    @property
    def total(self) -> int:
        """All of them."""
        return sum(self.by_status.values())

    @property
    def errors(self) -> int:
        """Those that were answered with an error."""
        return sum(count for status, count in self.by_status.items() if status >= HTTPStatus.BAD_REQUEST)

    @property
    def error_share(self) -> float | None:
        """Errors among all, from 0 to 1; None where there is no request."""
        return self.errors / self.total if self.total else None


# A 401 has one cause, so the causes are its count.
_TRAFFIC = """
    SELECT hour, status, replayed, sum(count)::bigint FROM partners_requestcount
     WHERE partner_id = %s AND hour >= %s GROUP BY 1, 2, 3
     UNION ALL
    SELECT hour, %s, false, sum(count)::bigint FROM partners_authenticationtrouble
     WHERE partner_id = %s AND hour >= %s GROUP BY 1
"""


def of_partner(partner_id: int, *, period: timedelta) -> Traffic:
    """A partner's requests of the last `period`. Hours are whole (tallies.first_hour)."""
    since = tallies.first_hour(period)
    statuses: Counter[int] = Counter()
    hours: Counter[datetime] = Counter()
    replays = 0
    parameters = (partner_id, since, UNAUTHORIZED, partner_id, since)
    for hour, status, replayed, requests in sql.fetch_all(_TRAFFIC, parameters):
        statuses[status] += requests
        hours[hour] += requests
        replays += requests if replayed else 0
    # Of two alike the later one.
    busiest = max((Hour(*hour) for hour in hours.items()), key=lambda hour: (hour.requests, hour.begins), default=None)
    return Traffic(dict(sorted(statuses.items())), replays, busiest)


@dataclass(frozen=True, slots=True)
class Clock:
    """How far the clocks of whoever signed were from ours; seconds, positive where theirs are ahead.

    To the tenth below ten seconds, to two digits above. requests: how many there were to tell it from.
    """

    requests: int
    median_seconds: float
    worst_seconds: float


_SKEWS = """
    SELECT key.prefix, skew.skew_tenths, sum(skew.count)::bigint
      FROM partners_clockskew skew JOIN partners_apikey key ON key.id = skew.key_id
     WHERE skew.partner_id = %s AND skew.hour >= %s
     GROUP BY key.prefix, skew.skew_tenths ORDER BY key.prefix
"""


def clocks(partner_id: int, *, period: timedelta) -> dict[str, Clock]:
    """The clocks behind a partner's keys in the last `period`, by the key's prefix; under "" that of all.

    Empty where no request told any. Hours are whole (tallies.first_hour).
    """
    counted: dict[str, Counter[int]] = {}
    for prefix, skew, requests in sql.fetch_all(_SKEWS, (partner_id, tallies.first_hour(period))):
        for name in ("", prefix):
            counted.setdefault(name, Counter())[skew] += requests
    return {name: _clock(sorted(skews.items())) for name, skews in counted.items()}


def _clock(skews: Iterable[tuple[int, int]]) -> Clock:
    """skews: tenths of a second with how many requests had them, in order."""
    ordered = list(skews)
    total = sum(requests for _, requests in ordered)
    worst = max((skew for skew, _ in ordered), key=abs)
    passed = accumulate(requests for _, requests in ordered)
    # The lower of the two in the middle.
    median = next(skew for (skew, _), so_far in zip(ordered, passed, strict=True) if so_far * 2 >= total)
    return Clock(total, median / 10, worst / 10)
