"""Demo data, made by the service's own rules: nothing here writes a row past them.

Made again, it is the same: what is there already stays. Only the key and the passwords are new.
"""

import json
import random
import secrets
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from typing import Any

from django.db import transaction

from partners import history, keys
from partners.api.errors import ConflictError
from partners.models import ApiKey, Partner
from transactions.demo.papers import publish_papers
from transactions.imports import Importer
from transactions.models import Document
from users.compliance import change_status
from users.models import Staff, User
from users.profile import create_user
from users.roles import ROLES
from users.staff import create_staff
from users.statuses import Status

PARTNER = "demo"
KEY_LABEL = "seed_demo"
FIRST_CONVERSION = datetime(2026, 1, 5, 9, 30, tzinfo=UTC)
USERS_IN_A_TRANSACTION = 200

# Of ten users, how they end up; the rest wait for compliance.
PATHS: tuple[tuple[Status, ...], ...] = (
    (Status.ACTIVE,),
    (Status.ACTIVE,),
    (),
    (Status.ACTIVE, Status.SUSPENDED),
    (Status.REJECTED,),
    (Status.ACTIVE,),
    (),
    (Status.ACTIVE, Status.CLOSED),
    (Status.ACTIVE, Status.SUSPENDED, Status.ACTIVE),
    (),
)
REASONS = {
    Status.ACTIVE: "Identity and address confirmed.",
    Status.REJECTED: "The address could not be confirmed.",
    Status.SUSPENDED: "Unusual conversions are under review.",
    Status.CLOSED: "Closed at the user's request.",
}
FIRST_NAMES = ("Ada", "Émilie", "Grace", "Hedy", "Katherine", "Mary", "Noor", "Olivia", "Raphaël", "Samuel", "Tomás")
LAST_NAMES = ("Beaulieu", "Chen", "Diallo", "Fraser", "Gagnon", "Kaur", "MacLeod", "Nguyen", "Okafor", "Tremblay")
PLACES = (
    ("Toronto", "ON", "M5X 1A9", "100 King St W"),
    ("Montréal", "QC", "H3B 2Y5", "1000 De La Gauchetière W"),
    ("Vancouver", "BC", "V6C 3L6", "200 Granville St"),
    ("Calgary", "AB", "T2P 1G1", "700 2 St SW"),
    ("Halifax", "NS", "B3J 3R7", "1969 Upper Water St"),
    # A code of another province: accepted, and a hint for compliance.
    ("Ottawa", "ON", "J8X 3X1", "1 Elgin St"),
)
OCCUPATIONS = ("Engineer", "Nurse", "Teacher", "Carpenter", "Translator", "Accountant")
CURRENCIES = ("CAD", "USD", "EUR", "GBP", "BTC", "USDC")


@dataclass(frozen=True, slots=True)
class Seeded:
    """What there is now, with what is shown once."""

    partner: Partner
    key: keys.IssuedKey
    # By role: user name and password.
    staff: dict[str, tuple[str, str]] = field(repr=False)
    users: int
    conversions: int
    documents: int


def seed(*, users: int, conversions: int) -> Seeded:
    """Makes a partner with a key, staff of every role, users in every status; conversions and papers of those active.

    users, conversions: how many of each there are to be in all.
    """
    partner, _ = Partner.objects.get_or_create(slug=PARTNER, defaults={"name": "Demo Bank"})
    staff = {role: _staff_member(role) for role in ROLES}
    reviewer = Staff.objects.get(username=staff["reviewer"][0])
    numbers = range(1, users + 1)
    for start in range(0, users, USERS_IN_A_TRANSACTION):
        with transaction.atomic():
            for number in numbers[start : start + USERS_IN_A_TRANSACTION]:
                _user(partner, number, reviewer)
    _import(partner, users=users, conversions=conversions)
    publish_papers(partner, [external_id(number) for number in _active(users)])
    documents = Document.objects.filter(partner=partner).count()
    # Earlier keys of the demo cannot be shown again.
    for old in ApiKey.objects.filter(partner=partner, label=KEY_LABEL, revoked_at=None):
        keys.revoke(old)
    return Seeded(partner, keys.issue(partner=partner, label=KEY_LABEL), staff, users, conversions, documents)


def external_id(number: int) -> str:
    """The externalId of the demo's user of this number, from 1."""
    return f"demo-{number:05d}"


def _staff_member(role: str) -> tuple[str, str]:
    username = f"demo-{role}"
    present = Staff.objects.filter(username=username).first()
    if present is None:
        _, password = create_staff(username=username, email=f"{username}@example.com", role=role)
    else:
        password = secrets.token_urlsafe(16)
        present.set_password(password)
        present.password_is_one_time = True
        present.save(update_fields=["password", "password_is_one_time"])
    return username, password


def _user(partner: Partner, number: int, reviewer: Staff) -> None:
    history.set_context(command="seed_demo")
    try:
        create_user(partner_id=partner.pk, body=json.dumps(_profile(number)).encode())
    except ConflictError:
        return
    user = User.objects.get(partner=partner, external_id=external_id(number))
    for status in PATHS[(number - 1) % len(PATHS)]:
        change_status(user=user, to_status=status, by=reviewer, reason=REASONS[status], source="seed_demo")


def _profile(number: int) -> dict[str, Any]:
    rng = random.Random(number)  # noqa: S311 - the same each time, and nobody's secret
    first, last = rng.choice(FIRST_NAMES), rng.choice(LAST_NAMES)
    city, province, postal_code, street = rng.choice(PLACES)
    return {
        "externalId": external_id(number),
        "email": f"user{number}@example.com",
        "firstName": first,
        "lastName": last,
        "dateOfBirth": (date(1950, 1, 1) + timedelta(days=rng.randrange(20_000))).isoformat(),
        "addressLine1": street,
        "addressLine2": f"Suite {rng.randrange(100, 999)}" if rng.random() < 0.5 else None,  # noqa: PLR2004 - one in two
        "city": city,
        "postalCode": postal_code,
        "province": province,
        "country": "CA",
        "occupation": rng.choice(OCCUPATIONS),
        "isCiroAffiliate": rng.random() < 0.1,  # noqa: PLR2004 - one in ten
    }


def _active(users: int) -> list[int]:
    """Of so many users, the numbers of those who have been active."""
    return [number for number in range(1, users + 1) if Status.ACTIVE in PATHS[(number - 1) % len(PATHS)]]


def _import(partner: Partner, *, users: int, conversions: int) -> None:
    importer = Importer()
    for rejected in importer.run(_lines(partner, users=users, conversions=conversions)):
        raise RuntimeError(f"demo conversion {rejected.number}: {rejected.reason}")


def _lines(partner: Partner, *, users: int, conversions: int) -> Iterator[tuple[int, bytes]]:
    """Conversions as NDJSON, shared out among the users who have been active."""
    active = _active(users)
    rng = random.Random(PARTNER)  # noqa: S311 - the same each time, and nobody's secret
    moment = FIRST_CONVERSION
    for number in range(1, conversions + 1 if active else 1):
        # Some share their instant with the one before.
        moment += timedelta(microseconds=rng.choice((0, *[rng.randrange(1, 3_600_000_000)] * 9)))
        source, target = rng.sample(CURRENCIES, 2)
        line = {
            "partner": partner.slug,
            "externalId": external_id(active[number % len(active)]),
            "conversionId": f"demo-cv-{number:08d}",
            "createdAt": moment.isoformat(),
            "type": "conversion",
            "from": {"currency": source, "amount": f"{rng.randrange(100, 10**6) / 100:.2f}"},
            "to": {"currency": target, "amount": f"{rng.randrange(1, 10**11) / 10**8:.8f}"},
            "rate": f"{rng.randrange(1, 10**7) / 10**6:.6f}",
        }
        yield number, json.dumps(line).encode()
