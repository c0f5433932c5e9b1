"""The demo's conversions: amounts that agree with their rates, made while their users were active."""

import json
import random
from collections.abc import Sequence
from datetime import datetime, timedelta
from decimal import Decimal
from typing import NamedTuple

from partners.models import Partner
from transactions.demo.people import Person
from transactions.imports.importer import Importer
from transactions.models import Conversion


class Currency(NamedTuple):
    """value: of one unit in CAD. decimals: of amounts. rate_decimals: of rates from other currencies."""

    value: Decimal
    decimals: int
    rate_decimals: int = 6


CURRENCIES = {
    "CAD": Currency(Decimal(1), 2),
    "USD": Currency(Decimal("1.392"), 2),
    "EUR": Currency(Decimal("1.615"), 2),
    "GBP": Currency(Decimal("1.862"), 2),
    "USDC": Currency(Decimal("1.391"), 6),
    "BTC": Currency(Decimal(128_400), 8, rate_decimals=12),
}


def import_conversions(partner: Partner, people: Sequence[Person], *, conversions: int) -> None:
    """Import the missing ones of this many conversions, shared out among the people who have been active."""
    active = [person for person in people if person.active_from]
    existing = set(Conversion.objects.filter(partner=partner).values_list("conversion_id", flat=True))
    records = (line(partner, active[number % len(active)], number) for number in range(1, conversions + 1) if active)
    lines = (json.dumps(record).encode() for record in records if record["conversionId"] not in existing)
    for rejected in Importer().run(enumerate(lines, 1)):
        raise RuntimeError(f"{rejected.line!r}: {rejected.reason}")


def line(partner: Partner, person: Person, number: int) -> dict[str, object]:
    """A line of an import."""
    rng = random.Random(f"conversion {number}")  # noqa: S311 - repeatable, not secret
    # Every tenth conversion has the same time as others of its user. Of the rest, recent ones are more likely.
    share = 0.25 if number % 10 == 0 else rng.random()
    source, target = _pair(rng)
    amount, converted, rate = _amounts(rng, CURRENCIES[source], CURRENCIES[target])
    return {
        "partner": partner.slug,
        "externalId": person.external_id,
        "conversionId": f"demo-cv-{number:08d}",
        "createdAt": _while_active(person, share).isoformat(),
        "type": "conversion",
        "from": {"currency": source, "amount": f"{amount:f}"},
        "to": {"currency": target, "amount": f"{converted:f}"},
        "rate": f"{rate:f}",
    }


def _while_active(person: Person, share: float) -> datetime:
    if person.active_from is None:
        raise ValueError("The user was never active.")
    return person.active_until - timedelta(
        seconds=(person.active_until - person.active_from).total_seconds() * share**2
    )


def _pair(rng: random.Random) -> tuple[str, str]:
    """Mostly from or to Canadian dollars."""
    other, another = rng.sample([name for name in CURRENCIES if name != "CAD"], 2)
    pairs: list[tuple[str, str]] = [("CAD", other), (other, "CAD"), (other, another)]
    return rng.choices(pairs, weights=(6, 3, 1))[0]


def _amounts(rng: random.Random, source: Currency, target: Currency) -> tuple[Decimal, Decimal, Decimal]:
    """The amount, the amount received, and the rate."""
    amount = round(Decimal(rng.lognormvariate(6, 1)) / source.value, source.decimals)
    rate = round(source.value / target.value * Decimal(rng.gauss(1, 0.01)), target.rate_decimals)
    return amount, round(amount * rate, target.decimals), rate
