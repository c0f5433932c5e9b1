"""What the demo's partner says of its users, some with what compliance calls a risk flag."""

import random
from collections.abc import Collection
from datetime import date, timedelta
from enum import Enum, auto
from typing import Any

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
# The user whose person and address of e-mail others have too.
SHARED = 1


class Flag(Enum):
    """What is unusual about a user."""

    POSTAL_CODE = auto()
    SAME_PERSON = auto()
    SAME_EMAIL = auto()
    JUST_ADULT = auto()
    CIRO_AFFILIATE = auto()


def profile(number: int, flags: Collection[Flag], *, today: date) -> dict[str, Any]:
    """The body of a create, without externalId, the same each time. today: the day for which JUST_ADULT is true."""
    rng = random.Random(f"profile {number}")  # noqa: S311 - the same each time, and nobody's secret
    city, province, postal_code, street = rng.choice(PLACES)
    made = {
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
        "isCiroAffiliate": Flag.CIRO_AFFILIATE in flags,
    }
    if Flag.POSTAL_CODE in flags:
        made |= {"city": "Ottawa", "province": "ON", "postalCode": "J8X 3X1"}
    if Flag.JUST_ADULT in flags:
        birthday = today - timedelta(days=12)
        made["dateOfBirth"] = birthday.replace(year=birthday.year - 18, day=min(birthday.day, 28)).isoformat()
    if Flag.SAME_PERSON in flags:
        other = profile(SHARED, (), today=today)
        made |= {name: other[name] for name in ("firstName", "lastName", "dateOfBirth")}
    if Flag.SAME_EMAIL in flags:
        made["email"] = f"User{SHARED}@example.com"
    return made
