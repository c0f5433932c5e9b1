"""The demo's users: profiles, and what happens to their accounts when. The same number gives the same user."""

import random
from collections.abc import Mapping, Sequence
from datetime import date, timedelta
from typing import Any

from django.conf import settings
from django.utils import timezone

from users.models import Status
from users.profile.field_rules import today

FIRST_NAMES = ("Ada", "Émilie", "Grace", "Hedy", "Katherine", "Mary", "Noor", "Olivia", "Raphaël", "Samuel", "Tomás")
LAST_NAMES = ("Beaulieu", "Chen", "Diallo", "Fraser", "Gagnon", "Kaur", "MacLeod", "Nguyen", "Okafor", "Tremblay")
PLACES = (("Toronto", "ON", "M5X 1A9"), ("Montréal", "QC", "H3B 2Y5"), ("Vancouver", "BC", "V6C 3L6"))
PENDING, ACTIVE, REJECTED = Status.PENDING_COMPLIANCE, Status.ACTIVE, Status.REJECTED

# A decision of compliance, what it asks for (with a `code`), an entry in the file (with a `kind`), or fields of the
# partner; and the days until the next.
Event = Status | Mapping[str, Any]
Step = tuple[Event, float]
# The events of each ten users after their registration. Users without any are pending.
COURSES: tuple[tuple[Event, ...], ...] = (
    (ACTIVE,),
    (ACTIVE,),
    (),
    (ACTIVE, Status.SUSPENDED),
    (REJECTED,),
    (ACTIVE, {"lastName": "Okafor-Gagnon"}),
    (),
    (ACTIVE, Status.CLOSED),
    (ACTIVE, Status.SUSPENDED, ACTIVE),
    (REJECTED, {"addressLine1": "55 Water St", "addressLine2": "Unit 4"}, PENDING),
)
_ADDRESS = {"code": "addressUnclear", "fields": ("address_line1", "postal_code"), "message": "Which postal code?"}
_FUNDS = {"code": "sourceOfFunds", "fields": (), "message": "Please say where the funds come from.", "due_in_days": 30}
_NAMES = {"code": "nameUnclear", "fields": ("first_name",), "message": "Please confirm the name.", "due_in_days": 1}
# What pending users are asked, by number: the first has answered, the answer of the last is overdue.
ASKED: Mapping[int, tuple[Step, ...]] = {
    3: ((_ADDRESS, 2.5), ({"addressLine1": "100 Laurier Ave W", "postalCode": "K1N 6N5"}, 0.4)),
    7: ((_FUNDS, 5),),
    13: ((_NAMES, 3.2),),
}
# Users whose records are due for erasure, due but held, due within a quarter; a pending CIRO affiliate, for two people.
DUE, HELD, DUE_SOON, PROPOSED = 5, 15, 25, 17
_FIRST_PERSON = {"firstName": "Grace", "lastName": "Chen", "dateOfBirth": "1984-03-17"}


def _filed() -> Mapping[int, Sequence[Event]]:
    """What compliance has in the files of users, by number."""

    def day(days: int) -> str:
        return (today() + timedelta(days=days)).isoformat()

    proof = {"kind": "identityVerification", "method": "photoDocument", "documentType": "passport"}
    proof |= {"documentNumber": "DEMO-0001", "issuingCountry": "CA", "verifiedOn": day(-400)}
    match = {"kind": "screening", "list": "Demo list", "listDate": day(-9), "result": "possibleMatch"}
    rating = {"kind": "riskRating", "reason": "By its conversions."}
    request = {"kind": "personRequest", "identityCheck": "By telephone, with the last conversion."}
    return {
        2: [match | {"reference": "D-2"}, rating | {"rating": "high", "reviewOn": day(-3)}],
        4: [request | {"request": "access", "receivedOn": day(-18)}],
        6: [rating | {"rating": "medium", "reviewOn": day(12)}],
        7: [proof | {"expiresOn": day(-40)}],
        9: [request | {"request": "correction", "receivedOn": day(-45)}],
        13: [match | {"reference": "D-13"}],
        23: [proof | {"expiresOn": day(700)}, {"lastName": "Kaur-Gagnon"}],
    }


def external_id(number: int) -> str:
    """The externalId of a user by number, from 1."""
    return f"demo-{number:05d}"


def plan(users: int) -> dict[str, Sequence[Step]]:
    """The steps of users 1 to `users` by externalId; the first is the registration."""
    # What raises risk flags, for pending users.
    flagged: Sequence[Mapping[str, Any]] = (
        {"city": "Ottawa", "province": "ON", "postalCode": "J8X 3X1"},
        {"dateOfBirth": f"{timezone.now() - timedelta(days=18 * 365.25 + 12):%Y-%m-%d}"},
        _FIRST_PERSON | {"email": "User1@example.com"},
        {"isCiroAffiliate": True},
        {},
    )
    people, filed = dict[str, Sequence[Step]](), _filed()
    for number in range(1, users + 1):
        course = COURSES[(number - 1) % len(COURSES)]
        special = _FIRST_PERSON if number == 1 else {} if course else flagged[number // 5 % len(flagged)]
        steps = zip(({**profile(number), **special}, *course), _days(number, course), strict=True)
        entries = [(entry, 0.1) for entry in filed.get(number, ())]
        people[external_id(number)] = (*steps, *ASKED.get(number, ()), *entries)
    return people


def _days(number: int, course: Sequence[Event]) -> Sequence[float]:
    """The days after each event: hours while it waits for compliance, weeks until later events, more since the last."""
    rng = random.Random(f"days {number}")  # noqa: S311 - repeatable, not secret
    waiting, since, retention = rng.uniform(0.05, 2), 1 + 300 * rng.random() ** 3, settings.RETENTION_YEARS * 365.25
    special = {1: 400.0, DUE: retention + 9, HELD: retention + 30, DUE_SOON: retention - 45}
    last = special.get(number, since if course and course[-1] != PENDING else waiting)
    return [waiting, *(rng.uniform(2, 20) for _ in course[1:]), last] if course else [last]


def profile(number: int) -> dict[str, Any]:
    """The body of the registration."""
    rng = random.Random(f"profile {number}")  # noqa: S311 - repeatable, not secret
    city, province, postal_code = rng.choice(PLACES)
    birth = date(1950, 1, 1) + timedelta(days=rng.randrange(20_000))
    return (
        {"externalId": external_id(number), "email": f"user{number}@example.com", "dateOfBirth": birth.isoformat()}
        | {"firstName": rng.choice(FIRST_NAMES), "lastName": rng.choice(LAST_NAMES), "isCiroAffiliate": False}
        | {"addressLine1": f"{rng.randrange(10, 2000)} King St", "city": city, "province": province, "country": "CA"}
        | {"postalCode": postal_code, "occupation": rng.choice(("Engineer", "Nurse", "Teacher", "Carpenter"))}
    )
