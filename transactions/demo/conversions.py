"""The demo's conversions: amounts that agree with their rates, while their users were active."""

import json
import random
from collections.abc import Sequence
from datetime import datetime, timedelta
from decimal import Decimal
from typing import NamedTuple

from partners.models import Partner
from transactions.demo.plans import Life
from transactions.imports.importer import Importer
from transactions.models import Conversion


class Currency(NamedTuple):
    """value: of one unit, in CAD, about. decimals: of an amount."""

    value: Decimal
    decimals: int


CURRENCIES = {
    "CAD": Currency(Decimal(1), 2),
    "USD": Currency(Decimal("1.392"), 2),
    "EUR": Currency(Decimal("1.615"), 2),
    "GBP": Currency(Decimal("1.862"), 2),
    "USDC": Currency(Decimal("1.391"), 6),
    "BTC": Currency(Decimal(128_400), 8),
}
RATE_DECIMALS = 6
# Of currencies whose unit is worth much: what a CAD is of them begins with zeros.
FINE_RATE_DECIMALS = 12
FINE_VALUE = 1000


def import_conversions(partner: Partner, lives: Sequence[Life], *, conversions: int) -> None:
    """Imports so many conversions, shared out among the users who have been active, but for those that are there."""
    active = [life for life in lives if life.active_from]
    present = set(Conversion.objects.filter(partner=partner).values_list("conversion_id", flat=True))
    numbers = range(1, conversions + 1 if active else 1)
    lines = (
        (number, json.dumps(line(partner, active[number % len(active)], number)).encode())
        for number in numbers
        if conversion_id(number) not in present
    )
    for rejected in Importer().run(lines):
        raise RuntimeError(f"demo conversion {rejected.number}: {rejected.reason}")


def conversion_id(number: int) -> str:
    """The conversionId of the demo's conversion of this number, from 1."""
    return f"demo-cv-{number:08d}"


def line(partner: Partner, life: Life, number: int) -> dict[str, object]:
    """A line of an import."""
    # Each tenth shares its instant with others of its user.
    rng = random.Random(f"conversion {number}")  # noqa: S311 - the same each time, and nobody's secret
    share = 0.25 if number % 10 == 0 else rng.random()
    source, target = _pair(rng)
    amount, converted, rate = _amounts(rng, source, target)
    return {
        "partner": partner.slug,
        "externalId": life.external_id,
        "conversionId": conversion_id(number),
        "createdAt": _while_active(life, share).isoformat(),
        "type": "conversion",
        "from": {"currency": source, "amount": f"{amount:f}"},
        "to": {"currency": target, "amount": f"{converted:f}"},
        "rate": f"{rate:f}",
    }


def _while_active(life: Life, share: float) -> datetime:
    """An instant while the user was active; recent ones are more likely."""
    if life.active_from is None:
        raise ValueError("The user never was active.")
    span = life.active_until - life.active_from
    return life.active_until - timedelta(seconds=span.total_seconds() * share**2)


def _pair(rng: random.Random) -> tuple[str, str]:
    """Mostly from or to Canadian dollars."""
    other, another = rng.sample([name for name in CURRENCIES if name != "CAD"], 2)
    pairs: list[tuple[str, str]] = [("CAD", other), (other, "CAD"), (other, another)]
    return rng.choices(pairs, weights=(6, 3, 1))[0]


def _amounts(rng: random.Random, source: str, target: str) -> tuple[Decimal, Decimal, Decimal]:
    """What was given, what was received, and the rate of the day: amount × rate, rounded, is what was received."""
    given, received = CURRENCIES[source], CURRENCIES[target]
    dollars = Decimal(rng.lognormvariate(6, 1))
    amount = _rounded(dollars / given.value, given.decimals)
    decimals = FINE_RATE_DECIMALS if received.value > FINE_VALUE else RATE_DECIMALS
    rate = _rounded(given.value / received.value * Decimal(rng.gauss(1, 0.01)), decimals)
    return amount, _rounded(amount * rate, received.decimals), rate


def _rounded(number: Decimal, decimals: int) -> Decimal:
    return number.quantize(Decimal(1).scaleb(-decimals))
