"""How many users waited at the end of each day, from when those who wait now and those who were decided began to.

The cost depends on how many users wait and on the decisions since the period before began; user_waiting and
status_change_by_day are read.
"""

from collections import Counter
from dataclasses import dataclass
from datetime import date
from typing import Any

from django.db.models import DateTimeField, QuerySet, Value

from backoffice.dashboard.figures import compose
from backoffice.dashboard.period import Period, midnight
from partners.db import statements
from users.cases.modes import live
from users.models import Status, StatusChange, User

# Counts, for each wait, the midnights of the period before its begin, and before its end (null where it goes on).
_BACKLOG = """
    SELECT width_bucket(began_at, %s::timestamptz[]), width_bucket(ended_at, %s::timestamptz[]), count(*)
      FROM ({rows}) AS waits (began_at, ended_at) GROUP BY 1, 2
"""


@dataclass(frozen=True, slots=True)
class Day:
    """A day's backlog. began: users who began to wait. decided: who ceased to. waiting: at the day's end, or now."""

    day: date
    began: int
    decided: int
    waiting: int


@dataclass(frozen=True, slots=True)
class Backlog:
    """The backlog of each day of a period.

    before: the users who waited when it began. began_before: those who began to wait in the period before.
    """

    before: int
    began_before: int
    days: list[Day]

    @property
    def began(self) -> int:
        """The users who began to wait in the period."""
        return sum(one.began for one in self.days)


def waits_since(period: Period) -> QuerySet[Any, Any]:
    """Return the begin and the end of each wait that had not ended when the period before began."""
    pending = {"from_status": Status.PENDING_COMPLIANCE, "created_at__gte": period.before.begins}
    ended = live(StatusChange.objects.filter(**pending)).order_by().values_list("since", "created_at")
    going_on = live(User.objects.filter(status=Status.PENDING_COMPLIANCE))
    return ended.union(going_on.values_list("status_since", Value(None, DateTimeField())), all=True)


def gather(period: Period) -> Backlog:
    """Return the users who waited for a decision, those who waited for their partner included."""
    midnights = [period.before.begins, *map(midnight, period.days), period.ends]
    rows = statements.fetch_all(*compose(_BACKLOG, waits_since(period), midnights, midnights))
    began, decided = Counter[int](), Counter[int]()
    for first, last, count in rows:
        began[first] += count
        decided[last] += count
    # Numbered by the midnights before: 0 began earlier than both periods, 1 is of the period before.
    before = waiting = began[0] + began[1] - decided[1]
    days = list[Day]()
    for number, day in enumerate(period.days, 2):
        waiting += began[number] - decided[number]
        days.append(Day(day, began[number], decided[number], waiting))
    return Backlog(before, began[1], days)
