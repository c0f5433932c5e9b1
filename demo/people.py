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
# Users whose records are due for erasure, due but held, due within a quarter; a pending CIRO affiliate, for two people.
DUE, HELD, DUE_SOON, PROPOSED = 5, 15, 25, 17
_FIRST_PERSON = {"firstName": "Grace", "lastName": "Chen", "dateOfBirth": "1984-03-17"}


def _later() -> Mapping[int, Sequence[Step]]:
    """What compliance asks of users and has in their files, by number; 3 has answered, 13 is overdue."""

    def day(days: int) -> str:
        return (today() + timedelta(days=days)).isoformat()

    address = {"code": "addressUnclear", "fields": ("address_line1",), "message": "Which postal code?"}
    funds = {"code": "sourceOfFunds", "fields": (), "message": "Where do the funds come from?", "due_in_days": 30}
    names = {"code": "nameUnclear", "fields": ("first_name",), "message": "Confirm the name.", "due_in_days": 1}
    proof = {"kind": "identityVerification", "method": "photoDocument", "documentType": "passport"}
    proof |= {"documentNumber": "DEMO-0001", "issuingCountry": "CA", "verifiedOn": day(-400)}
    match = {"kind": "screening", "list": "Demo list", "listDate": day(-9), "result": "possibleMatch"}
    rating = {"kind": "riskRating", "reason": "By its conversions.", "rating": "high", "reviewOn": day(-3)}
    request = {"kind": "personRequest", "request": "access", "identityCheck": "By telephone."}
    return {
        2: [(rating, 0.1)],
        3: [(address, 2.5), ({"addressLine1": "100 Laurier Ave W", "postalCode": "K1N 6N5"}, 0.4)],
        4: [(request | {"receivedOn": day(-18)}, 0.1)],
        7: [(funds, 5), (proof | {"expiresOn": day(-40)}, 0.1)],
        9: [(request | {"receivedOn": day(-45)}, 0.1)],
        13: [(names, 3.2), (match | {"reference": "D-13"}, 0.1)],
        23: [(proof | {"expiresOn": day(700)}, 0.1), ({"lastName": "Kaur-Gagnon"}, 0.1)],
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
    people, later, retention = dict[str, Sequence[Step]](), _later(), settings.RETENTION_YEARS * 365.25
    last = {1: 400.0, DUE: retention + 9, HELD: retention + 30, DUE_SOON: retention - 45}
    for number in range(1, users + 1):
        rng = random.Random(f"days {number}")  # noqa: S311 - repeatable, not secret
        course = COURSES[(number - 1) % len(COURSES)]
        special = _FIRST_PERSON if number == 1 else {} if course else flagged[number // 5 % len(flagged)]
        # Hours while it waits for compliance, weeks until later events, more since the last.
        waiting, since = rng.uniform(0.05, 2), 1 + 300 * rng.random() ** 3
        since = last.get(number, since if course and course[-1] != PENDING else waiting)
        days = [waiting, *(rng.uniform(2, 20) for _ in course[1:]), since] if course else [since]
        steps = zip(({**profile(number), **special}, *course), days, strict=True)
        people[external_id(number)] = (*steps, *later.get(number, ()))
    return people


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
