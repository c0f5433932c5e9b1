"""Who the demo's users are, and when what happened to them: plans, the same for a number and a present time."""

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from django.conf import settings

from transactions.demo.profiles import Flag, profile
from users.models import Status

PENDING, ACTIVE, REJECTED = Status.PENDING_COMPLIANCE, Status.ACTIVE, Status.REJECTED
SUSPENDED, CLOSED = Status.SUSPENDED, Status.CLOSED
NEW_NAME = {"lastName": "Okafor-Gagnon"}
NEW_ADDRESS = {"addressLine1": "55 Water St", "addressLine2": "Unit 4"}

# Of ten users, what happened to them: decisions of compliance, and changes by the partner.
COURSES: tuple[tuple[Status | Mapping[str, str], ...], ...] = (
    (ACTIVE,),
    (ACTIVE,),
    (),
    (ACTIVE, SUSPENDED),
    (REJECTED,),
    (ACTIVE, NEW_NAME),
    (),
    (ACTIVE, CLOSED),
    (ACTIVE, SUSPENDED, ACTIVE),
    (REJECTED, NEW_ADDRESS, PENDING),
)
# The users nobody has decided about yet: hours that they have waited, and what is unusual about them.
WAITING: tuple[tuple[float, tuple[Flag, ...]], ...] = (
    (2, ()),
    (30, (Flag.POSTAL_CODE,)),
    (9, (Flag.JUST_ADULT,)),
    (0.5, ()),
    (75, (Flag.SAME_PERSON, Flag.SAME_EMAIL)),
    (20, (Flag.CIRO_AFFILIATE,)),
    (200, (Flag.POSTAL_CODE, Flag.CIRO_AFFILIATE)),
    (4, (Flag.SAME_EMAIL,)),
)
# The first ten have been customers for long; of the others, the last thing happened within so many days.
OLD_CUSTOMERS = 10
RECENT_DAYS = 56
REOPENED_DAYS = 6
LONGEST_DECISION_HOURS = 96
OFFICE_HOURS = range(9, 17)
SATURDAY = 5


@dataclass(frozen=True, slots=True)
class Step:
    """One thing that happened: a decision of compliance where there is a status, else a change by the partner."""

    at: datetime
    status: Status | None = None
    changes: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Life:
    """A user of the demo. profile: the body of the create."""

    number: int
    profile: Mapping[str, Any] = field(repr=False)
    registered_at: datetime
    steps: Sequence[Step]
    seen_at: datetime

    @property
    def external_id(self) -> str:
        """The externalId."""
        return external_id(self.number)

    @property
    def instants(self) -> list[datetime]:
        """When the user was registered, and each step after it."""
        return [self.registered_at, *(step.at for step in self.steps)]

    @property
    def active_from(self) -> datetime | None:
        """When the user first became active; None for those who never were."""
        return next((step.at for step in self.steps if step.status is ACTIVE), None)

    @property
    def active_until(self) -> datetime:
        """When the user was first suspended or closed; else the present of the plan."""
        return next((step.at for step in self.steps if step.status in {SUSPENDED, CLOSED}), self.seen_at)


def external_id(number: int) -> str:
    """The externalId of the demo's user of this number, from 1."""
    return f"demo-{number:05d}"


def lives(users: int, *, now: datetime) -> Iterator[Life]:
    """The plans of users 1 to `users`, as seen from `now`."""
    return (_life(number, now) for number in range(1, users + 1))


def _life(number: int, now: datetime) -> Life:
    rng = random.Random(number)  # noqa: S311 - the same each time, and nobody's secret
    course = COURSES[(number - 1) % len(COURSES)]
    if not course:
        hours, flags = _waiting(number, rng)
        return Life(number, profile(number, flags, today=_day(now)), now - timedelta(hours=hours), (), now)
    is_reopened = course[-1] is PENDING
    last = now - timedelta(days=rng.uniform(0.3, REOPENED_DAYS if is_reopened else RECENT_DAYS))
    if number <= OLD_CUSTOMERS and not is_reopened:
        last -= timedelta(days=700 - 50 * number)
    steps = list(_steps_backwards(course, last, rng))[::-1]
    waited = min(rng.lognormvariate(2.3, 0.9), LONGEST_DECISION_HOURS)
    registered_at = steps[0].at - timedelta(hours=waited)
    return Life(number, profile(number, (), today=_day(now)), registered_at, steps, now)


def _waiting(number: int, rng: random.Random) -> tuple[float, tuple[Flag, ...]]:
    """Hours waited and flags; beyond the table's end the flags come again, with other hours."""
    before = sum(not COURSES[(other - 1) % len(COURSES)] for other in range(1, number))
    hours, flags = WAITING[before % len(WAITING)]
    return (hours if before < len(WAITING) else rng.uniform(0.5, 200)), flags


def _steps_backwards(
    course: Sequence[Status | Mapping[str, str]], last: datetime, rng: random.Random
) -> Iterator[Step]:
    at = last
    for what in reversed(course):
        if isinstance(what, Status):
            at = _in_office_hours(at, rng)
            yield Step(at, status=what)
        else:
            yield Step(at, changes=what)
        at -= timedelta(days=rng.uniform(2, 10))


def _in_office_hours(at: datetime, rng: random.Random) -> datetime:
    """`at`, or a time before it at which the compliance desk works."""
    local = at.astimezone(ZoneInfo(settings.COMPLIANCE_TIME_ZONE))
    while local.weekday() >= SATURDAY or local.hour not in OFFICE_HOURS:
        local -= timedelta(hours=rng.uniform(0.5, 7))
    return local.astimezone(UTC)


def _day(now: datetime) -> date:
    return now.astimezone(ZoneInfo(settings.COMPLIANCE_TIME_ZONE)).date()
