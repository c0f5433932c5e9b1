"""The demo's users: profiles, and what happens to their accounts. The same number gives the same user."""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any

from django.utils import timezone

from users.models import RequirementCode, Status

FIRST_NAMES = ("Ada", "Émilie", "Grace", "Hedy", "Katherine", "Mary", "Noor", "Olivia", "Raphaël", "Samuel", "Tomás")
LAST_NAMES = ("Beaulieu", "Chen", "Diallo", "Fraser", "Gagnon", "Kaur", "MacLeod", "Nguyen", "Okafor", "Tremblay")
PLACES = (
    ("Toronto", "ON", "M5X 1A9", "King St W"),
    ("Montréal", "QC", "H3B 2Y5", "De La Gauchetière W"),
    ("Vancouver", "BC", "V6C 3L6", "Granville St"),
    ("Halifax", "NS", "B3J 3R7", "Upper Water St"),
)
PENDING, ACTIVE, REJECTED = Status.PENDING_COMPLIANCE, Status.ACTIVE, Status.REJECTED
SUSPENDED, CLOSED = Status.SUSPENDED, Status.CLOSED


@dataclass(frozen=True, slots=True)
class Question:
    """What compliance asks the partner for. fields: columns of the profile."""

    code: RequirementCode
    fields: tuple[str, ...]
    message: str
    due_in_days: int = 14


# A decision of compliance, a question of it, or fields sent by the partner.
Event = Status | Question | Mapping[str, Any]
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
# What is asked of pending users by number: one has an answer, one waits for it, and of one it is overdue soon.
_ADDRESS = Question(
    RequirementCode.ADDRESS_UNCLEAR, ("address_line1", "postal_code"), "The postal code is not in the province."
)
OVERDUE = 13
ASKED: Mapping[int, tuple[Event, ...]] = {
    3: (_ADDRESS, {"addressLine1": "100 Laurier Ave W", "postalCode": "K1N 6N5"}),
    7: (Question(RequirementCode.SOURCE_OF_FUNDS, (), "Please say where the funds come from.", 30),),
    OVERDUE: (Question(RequirementCode.NAME_UNCLEAR, ("first_name", "last_name"), "Please confirm both names.", 1),),
}
# Two rejected users have records that are due for erasure; those of the second are held too (old_records.py).
DUE, HELD = 5, 15
FIRST_PERSON = {"firstName": "Grace", "lastName": "Chen", "dateOfBirth": "1984-03-17"}


def external_id(number: int) -> str:
    """The externalId of a user by number, from 1."""
    return f"demo-{number:05d}"


def plan(users: int) -> dict[str, Sequence[Event]]:
    """The events of users 1 to `users` by externalId; the first is the registration."""
    just_adult = (timezone.now() - timedelta(days=18 * 365.25 + 12)).date().isoformat()
    # What raises risk flags, for pending users.
    flagged: Sequence[Mapping[str, Any]] = (
        {"city": "Ottawa", "province": "ON", "postalCode": "J8X 3X1"},
        {"dateOfBirth": just_adult},
        FIRST_PERSON | {"email": "User1@example.com"},
        {"isCiroAffiliate": True},
        {},
    )
    people: dict[str, Sequence[Event]] = {}
    for number in range(1, users + 1):
        course = COURSES[(number - 1) % len(COURSES)]
        special = FIRST_PERSON if number == 1 else {} if course else flagged[number // 5 % len(flagged)]
        people[external_id(number)] = ({**_profile(number), **special}, *course, *ASKED.get(number, ()))
    return people


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
        "city": city,
        "postalCode": postal_code,
        "province": province,
        "country": "CA",
        "occupation": rng.choice(("Engineer", "Nurse", "Teacher", "Carpenter", "Translator", "Accountant")),
        "isCiroAffiliate": False,
    }
