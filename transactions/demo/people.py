"""The demo's users: profiles, and the events of their accounts. The same number gives the same user."""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any

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

# A decision of compliance, or fields sent by the partner.
Event = Status | Mapping[str, Any]
# The events of each ten users after their registration. Users without any are pending.
COURSES: tuple[tuple[Event, ...], ...] = (
    (ACTIVE,),
    (ACTIVE,),
    (),
    (ACTIVE, SUSPENDED),
    (REJECTED,),
    (ACTIVE, {"lastName": "Okafor-Gagnon"}),
    (),
    (ACTIVE, CLOSED),
    (ACTIVE, SUSPENDED, ACTIVE),
    (REJECTED, {"addressLine1": "55 Water St", "addressLine2": "Unit 4"}, PENDING),
)

FIRST_PERSON = {"firstName": "Grace", "lastName": "Chen", "dateOfBirth": "1984-03-17"}
SAME_EMAIL = {"email": "User1@example.com"}
WRONG_PROVINCE = {"city": "Ottawa", "province": "ON", "postalCode": "J8X 3X1"}
AFFILIATE: dict[str, Any] = {"isCiroAffiliate": True}


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
    people: list[Person] = []
    pending = _pending_users(now)
    for number in range(1, users + 1):
        rng = random.Random(number)  # noqa: S311 - repeatable, not secret
        profile = _profile(number) | (FIRST_PERSON if number == 1 else {})
        if events := _dated(number, now, rng):
            hours = min(rng.lognormvariate(2.3, 0.9), 96)
        else:
            hours, fields = pending.pop(0) if pending else (rng.uniform(0.5, 200), rng.choice(_pending_users(now))[1])
            profile |= fields
        registered_at = (events[0][0] if events else now) - timedelta(hours=hours)
        people.append(Person(external_id(number), [(registered_at, profile), *events], now))
    return people


def _pending_users(now: datetime) -> list[tuple[float, Mapping[str, Any]]]:
    """Hours since the registration, and fields that raise risk flags. Further pending users have any of the fields."""
    just_adult = {"dateOfBirth": (now - timedelta(days=18 * 365.25 + 12)).date().isoformat()}
    return [
        (2, {}),
        (30, WRONG_PROVINCE),
        (9, just_adult),
        (0.5, {}),
        (75, FIRST_PERSON | SAME_EMAIL),
        (20, AFFILIATE),
        (200, WRONG_PROVINCE | AFFILIATE),
        (4, SAME_EMAIL),
    ]


def _dated(number: int, now: datetime, rng: random.Random) -> list[tuple[datetime, Event]]:
    """A user's events with their times. The first ten users are old customers; reopened users are recent."""
    course = COURSES[(number - 1) % len(COURSES)]
    is_reopened = PENDING in course
    at = now - timedelta(days=rng.uniform(1, 6 if is_reopened else 56))
    if number <= len(COURSES) and not is_reopened:
        at -= timedelta(days=700 - 50 * number)
    events: list[tuple[datetime, Event]] = []
    for event in reversed(course):
        # In office hours from Monday to Friday.
        at = (at - timedelta(days=max(0, at.weekday() - 4))).replace(hour=rng.randrange(14, 21))
        events.append((at, event))
        at -= timedelta(days=rng.uniform(2, 10))
    return events[::-1]


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
