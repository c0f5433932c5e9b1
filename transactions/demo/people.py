"""The demo's users: a profile for each, and the events of their accounts. The same number gives the same user."""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from django.conf import settings

from users.models import Status

FIRST_NAMES = ("Ada", "Émilie", "Grace", "Hedy", "Katherine", "Mary", "Noor", "Olivia", "Raphaël", "Samuel", "Tomás")
LAST_NAMES = ("Beaulieu", "Chen", "Diallo", "Fraser", "Gagnon", "Kaur", "MacLeod", "Nguyen", "Okafor", "Tremblay")
PLACES = (
    ("Toronto", "ON", "M5X 1A9", "King St W"),
    ("Montréal", "QC", "H3B 2Y5", "De La Gauchetière W"),
    ("Vancouver", "BC", "V6C 3L6", "Granville St"),
    ("Calgary", "AB", "T2P 1G1", "2 St SW"),
    ("Halifax", "NS", "B3J 3R7", "Upper Water St"),
)
OCCUPATIONS = ("Engineer", "Nurse", "Teacher", "Carpenter", "Translator", "Accountant")

PENDING, ACTIVE, REJECTED = Status.PENDING_COMPLIANCE, Status.ACTIVE, Status.REJECTED
SUSPENDED, CLOSED = Status.SUSPENDED, Status.CLOSED
NEW_NAME = {"lastName": "Okafor-Gagnon"}
NEW_ADDRESS = {"addressLine1": "55 Water St", "addressLine2": "Unit 4"}

# A decision of compliance, or fields sent by the partner.
Event = Status | Mapping[str, Any]
# The events of each ten users after their registration. Those without any are pending.
COURSES: tuple[tuple[Event, ...], ...] = (
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
# What raises risk flags in the profiles of pending users.
FIRST_PERSON: dict[str, Any] = {"firstName": "Grace", "lastName": "Chen", "dateOfBirth": "1984-03-17"}
FIRST_EMAIL = {"email": "User1@example.com"}
WRONG_PROVINCE: dict[str, Any] = {"city": "Ottawa", "province": "ON", "postalCode": "J8X 3X1"}
AFFILIATE: dict[str, Any] = {"isCiroAffiliate": True}
# The first ten are old customers; the others' last event was within so many days.
OLD_CUSTOMERS = 10
RECENT_DAYS = 56
REOPENED_DAYS = 6
LONGEST_DECISION_HOURS = 96
OFFICE_HOURS = range(9, 17)
SATURDAY = 5


@dataclass(frozen=True, slots=True)
class Person:
    """A user of the demo. events: by time; the first is the registration. planned_at: the present time of the plan."""

    external_id: str
    events: Sequence[tuple[datetime, Event]]
    planned_at: datetime

    @property
    def active_from(self) -> datetime | None:
        """When the user first became active, if ever."""
        return next((at for at, event in self.events if event is ACTIVE), None)

    @property
    def active_until(self) -> datetime:
        """When the user was first suspended or closed, otherwise the present time of the plan."""
        return next((at for at, event in self.events if event is SUSPENDED or event is CLOSED), self.planned_at)


def external_id(number: int) -> str:
    """The externalId of a user by number, from 1."""
    return f"demo-{number:05d}"


def plan(users: int, *, now: datetime) -> list[Person]:
    """Users 1 to `users` with their events until `now`."""
    pending_users = _pending_users(now.astimezone(ZoneInfo(settings.COMPLIANCE_TIME_ZONE)).date())
    people: list[Person] = []
    pending = 0
    for number in range(1, users + 1):
        rng = random.Random(number)  # noqa: S311 - repeatable, not secret
        fields = FIRST_PERSON if number == 1 else {}
        if course := COURSES[(number - 1) % len(COURSES)]:
            events = _dated(number, course, now, rng)
            registered_at = events[0][0] - timedelta(hours=min(rng.lognormvariate(2.3, 0.9), LONGEST_DECISION_HOURS))
        else:
            hours, fields = pending_users[pending % len(pending_users)]
            if pending >= len(pending_users):
                hours = rng.uniform(0.5, 200)
            events, registered_at = [], now - timedelta(hours=hours)
            pending += 1
        people.append(Person(external_id(number), [(registered_at, _profile(number) | fields), *events], now))
    return people


def _pending_users(today: date) -> Sequence[tuple[float, dict[str, Any]]]:
    """Hours since the registration, and profile fields, of pending users. Further ones repeat the fields."""
    birthday = today - timedelta(days=12)
    just_adult = {"dateOfBirth": birthday.replace(year=birthday.year - 18, day=min(birthday.day, 28)).isoformat()}
    return (
        (2, {}),
        (30, WRONG_PROVINCE),
        (9, just_adult),
        (0.5, {}),
        (75, FIRST_PERSON | FIRST_EMAIL),
        (20, AFFILIATE),
        (200, WRONG_PROVINCE | AFFILIATE),
        (4, FIRST_EMAIL),
    )


def _dated(number: int, course: Sequence[Event], now: datetime, rng: random.Random) -> list[tuple[datetime, Event]]:
    """The events with their times, from the last one back."""
    is_reopened = course[-1] is PENDING
    at = now - timedelta(days=rng.uniform(0.3, REOPENED_DAYS if is_reopened else RECENT_DAYS))
    if number <= OLD_CUSTOMERS and not is_reopened:
        at -= timedelta(days=700 - 50 * number)
    events: list[tuple[datetime, Event]] = []
    for event in reversed(course):
        if isinstance(event, Status):
            at = _in_office_hours(at, rng)
        events.append((at, event))
        at -= timedelta(days=rng.uniform(2, 10))
    return events[::-1]


def _in_office_hours(at: datetime, rng: random.Random) -> datetime:
    """`at`, or an earlier time in the office hours of compliance."""
    local = at.astimezone(ZoneInfo(settings.COMPLIANCE_TIME_ZONE))
    while local.weekday() >= SATURDAY or local.hour not in OFFICE_HOURS:
        local -= timedelta(hours=rng.uniform(0.5, 7))
    return local.astimezone(UTC)


def _profile(number: int) -> dict[str, Any]:
    """The body of the registration."""
    rng = random.Random(f"profile {number}")  # noqa: S311 - repeatable, not secret
    city, province, postal_code, street = rng.choice(PLACES)
    return {
        "externalId": external_id(number),
        "email": f"user{number}@example.com",
        "firstName": rng.choice(FIRST_NAMES),
        "lastName": rng.choice(LAST_NAMES),
        "dateOfBirth": (date(1950, 1, 1) + timedelta(days=rng.randrange(20_000))).isoformat(),
        "addressLine1": f"{rng.randrange(10, 2000)} {street}",
        "addressLine2": rng.choice((None, f"Suite {rng.randrange(100, 999)}")),
        "city": city,
        "postalCode": postal_code,
        "province": province,
        "country": "CA",
        "occupation": rng.choice(OCCUPATIONS),
        "isCiroAffiliate": False,
    }
