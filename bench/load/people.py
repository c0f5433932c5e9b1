"""Generates people whose names, places and histories are distributed about as unevenly as real ones."""

import random
import uuid
from collections.abc import Iterator
from datetime import date, datetime, timedelta
from itertools import accumulate, pairwise
from typing import Any, NamedTuple

from users.models import Status
from users.profile.names import fold_name

PERIOD = timedelta(days=730)
PENDING, ACTIVE, REJECTED = Status.PENDING_COMPLIANCE, Status.ACTIVE, Status.REJECTED
SUSPENDED, CLOSED = Status.SUSPENDED, Status.CLOSED


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


# Sequences of statuses, with their number among a thousand users.
PATHS: dict[tuple[Status, ...], int] = {
    (PENDING,): 28,
    (PENDING, REJECTED, PENDING): 2,
    (PENDING, ACTIVE): 860,
    (PENDING, REJECTED): 50,
    (PENDING, ACTIVE, SUSPENDED): 15,
    (PENDING, ACTIVE, SUSPENDED, ACTIVE): 15,
    (PENDING, ACTIVE, CLOSED): 30,
}
FIRST_NAMES = _words(
    "Olivia Liam Emma Noah Charlotte William Alice Thomas Léa Jacob Sofia Lucas Mia Benjamin Zoé Nathan Chloe Leo"
    " Ava Ethan Émilie Samuel Amelia James Maya Gabriel Hannah Logan Nora Adam Aisha Omar Fatima Ahmed Priya Arjun"
    " Mei Wei Yuki Hiro Ji-woo Minh Linh Carlos María José Ana Luca Giulia Ivan Olga Noor Raphaël Tomás Grace Hedy"
)
LAST_NAMES = _words(
    "Smith Tremblay Brown Martin Roy Wilson Gagnon Lee MacDonald Singh Johnson Côté Bouchard Taylor Kaur Campbell"
    " Gauthier Anderson Morin Williams Jones Nguyen Patel Chen Wong Li Fraser Scott Thompson Khan Ali Wang Zhang"
    " Okafor Diallo García Rossi Müller Kowalski Ivanov Haddad Cohen Silva Fernandes Kim Park Tanaka O'Brien Fortin"
)
SYLLABLES = _words("ba be bo ca da do el fa ga go ha is ja ka ko la le lo ma mi mo na ni or pa ra re ri ro sa se ta ti")
# City, province, country, prefix of the postal code, and weight. The last prefix belongs to another province.
PLACES = (
    ("Toronto", "ON", "CA", "M5V 2", 300),
    ("Ottawa", "ON", "CA", "K1P 5", 90),
    ("Montréal", "QC", "CA", "H3B 2", 190),
    ("Vancouver", "BC", "CA", "V6C 3", 130),
    ("Calgary", "AB", "CA", "T2P 1", 110),
    ("Winnipeg", "MB", "CA", "R3C 4", 40),
    ("Halifax", "NS", "CA", "B3J 3", 30),
    ("Saskatoon", "SK", "CA", "S7K 1", 25),
    ("St. John's", "NL", "CA", "A1C 5", 12),
    ("Charlottetown", "PE", "CA", "C1A 7", 5),
    ("Buffalo", "NY", "US", "142", 20),
    ("Seattle", "WA", "US", "981", 15),
    ("Paris", "", "FR", "750", 10),
    ("London", "", "GB", "EC1A 1", 13),
    ("Ottawa", "ON", "CA", "J8X 3", 10),
)
OCCUPATIONS = ("Engineer", "Nurse", "Teacher", "Carpenter", "Translator", "Accountant", "Student", "Driver", "Cook")


class Move(NamedTuple):
    """A change of status. since: when the user got the status `start`."""

    start: Status
    end: Status
    since: datetime
    at: datetime


class Person(NamedTuple):
    """A generated user. columns: of `users_user`, without partner and externalId."""

    number: int
    columns: dict[str, Any]
    moves: tuple[Move, ...]


def people(*, first: int, last: int, now: datetime) -> Iterator[Person]:
    """Yield the people of a range of numbers; the same each time, relative to `now`."""
    rng = random.Random(first)  # noqa: S311 - deterministic, no secret
    paths, places = list(PATHS), list(PLACES)
    path_weights, place_weights = list(accumulate(PATHS.values())), list(accumulate(place[-1] for place in PLACES))
    for number in range(first, last + 1):
        path = rng.choices(paths, cum_weights=path_weights)[0]
        yield _person(rng, number, path, rng.choices(places, cum_weights=place_weights)[0], now)


def _person(
    rng: random.Random, number: int, path: tuple[Status, ...], place: tuple[str, str, str, str, int], now: datetime
) -> Person:
    first_name, last_name = rng.choice(FIRST_NAMES), _last_name(rng)
    city, province, country, prefix, _weight = place
    instants = _instants(rng, path, now)
    moves = tuple(
        Move(start, end, since, at)
        for (start, end), (since, at) in zip(pairwise(path), pairwise(instants), strict=True)
    )
    changed = _changed_at(rng, instants[-1], now)
    # One of thirty changes is of a name or birth date.
    identity = changed if path[-1] == ACTIVE and rng.random() < 1 / 30 else None
    has_shared_mailbox = rng.random() < 0.004  # noqa: PLR2004 - of a family
    columns = {
        "id": uuid.UUID(int=rng.getrandbits(128), version=4),
        "email": _email(first_name, last_name, number // 50 if has_shared_mailbox else number),
        "first_name": first_name,
        "last_name": last_name,
        **_folded(first_name, last_name),
        "date_of_birth": _born(rng, now),
        "address_line1": f"{rng.randrange(1, 3000)} King St",
        "city": city,
        "postal_code": _postal_code(rng, country, prefix),
        "province": province,
        "country": country,
        "occupation": rng.choice(OCCUPATIONS),
        "is_ciro_affiliate": rng.random() < 0.03,  # noqa: PLR2004 - three of a hundred
        "status": path[-1].value,
        "status_since": instants[-1],
        "waiting_since": instants[-1] if path[-1] == Status.PENDING_COMPLIANCE else None,
        "profile_changed_at": changed,
        "identity_changed_at": identity,
        "created_at": instants[0],
        "updated_at": max(instants[-1], changed or instants[0]),
    }
    return Person(number, columns, moves)


def _folded(first_name: str, last_name: str) -> dict[str, str]:
    """The columns of the folded name, as COPY takes them: a tsvector by its quoted words."""
    name = fold_name(first_name, last_name)
    return {"name_key": name.name_key, "name_words": " ".join(f"'{word}'" for word in name.name_words.split(" "))}


def _last_name(rng: random.Random) -> str:
    # Half have one of a few names, the others one of tens of thousands.
    if rng.random() < 0.5:  # noqa: PLR2004
        return rng.choice(LAST_NAMES)
    return "".join(rng.choices(SYLLABLES, k=3)).capitalize()


def _email(first_name: str, last_name: str, number: int) -> str:
    name = f"{first_name}.{last_name}".lower().replace("'", "").encode("ascii", "ignore").decode()
    return f"{name}{number}@example.{('com', 'org', 'net')[number % 3]}"


def _postal_code(rng: random.Random, country: str, prefix: str) -> str:
    if country == "CA":
        return f"{prefix}{rng.choice('ABCEGHJ')}{rng.randrange(10)}"
    if country == "GB":
        return f"{prefix}{rng.choice('AB')}{rng.choice('BD')}"
    return f"{prefix}{rng.randrange(100):02d}"


def _born(rng: random.Random, now: datetime) -> date:
    return now.date() - timedelta(days=round(rng.triangular(18 * 365.25 + 5, 80 * 365.25, 32 * 365.25)))


def _instants(rng: random.Random, path: tuple[Status, ...], now: datetime) -> list[datetime]:
    """Return when the user got each status, the last before `now`."""
    if path[-1] == PENDING:
        # Mostly of the last hours, a few much older.
        began = now - timedelta(hours=min(rng.expovariate(1 / 20), 600))
        before = [timedelta(hours=rng.uniform(5, 400)) for _ in path[1:]]
        return [began - sum(before[i:], timedelta(0)) for i in range(len(path))]
    # More of them lately.
    instants = [now - PERIOD * (1 - rng.random() ** 0.7) - timedelta(hours=1)]
    for step in range(1, len(path)):
        wait = rng.lognormvariate(2.2, 1.0) if step == 1 else rng.uniform(200, 2000)
        left = now - instants[-1]
        instants.append(instants[-1] + min(timedelta(hours=wait), left * rng.uniform(0.3, 0.9)))
    return instants


def _changed_at(rng: random.Random, since: datetime, now: datetime) -> datetime | None:
    if rng.random() > 0.06:  # noqa: PLR2004 - six of a hundred changed since
        return None
    return since + (now - since) * rng.uniform(0.05, 0.99)
