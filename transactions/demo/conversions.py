"""The demo's conversions: amounts that agree with their rates, made while their users were active."""

import json
import random
from collections.abc import Sequence
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
    """A line of an import, from a time when the user was active."""
    if person.active_from is None:
        raise ValueError("The user was never active.")
    rng = random.Random(f"conversion {number}")  # noqa: S311 - repeatable, not secret
    # Recent times are more likely. Every tenth conversion has the same time as others of its user.
    share = 0.25 if number % 10 == 0 else rng.random() ** 2
    # Mostly from or to Canadian dollars.
    other, another = rng.sample([name for name in CURRENCIES if name != "CAD"], 2)
    pairs: list[tuple[str, str]] = [("CAD", other), (other, "CAD"), (other, another)]
    source, target = rng.choices(pairs, weights=(6, 3, 1))[0]
    sold, bought = CURRENCIES[source], CURRENCIES[target]
    amount = round(Decimal(rng.lognormvariate(6, 1)) / sold.value, sold.decimals)
    rate = round(sold.value / bought.value * Decimal(rng.gauss(1, 0.01)), bought.rate_decimals)
    return {
        "partner": partner.slug,
        "externalId": person.external_id,
        "conversionId": f"demo-cv-{number:08d}",
        "createdAt": (person.active_until - (person.active_until - person.active_from) * share).isoformat(),
        "type": "conversion",
        "from": {"currency": source, "amount": f"{amount:f}"},
        "to": {"currency": target, "amount": f"{round(amount * rate, bought.decimals):f}"},
        "rate": f"{rate:f}",
    }
