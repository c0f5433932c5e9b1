"""The demo's conversions of the last year: amounts that agree with their rates."""

import json
import random
from collections.abc import Sequence
from datetime import timedelta
from decimal import Decimal
from itertools import islice

from partners.models import Partner
from transactions.imports.conversions import parse_conversion, store
from transactions.models import Conversion

PERIOD = timedelta(days=365)
BATCH = 5000
# The value of one unit in CAD, and the decimals of amounts.
CURRENCIES = {
    "CAD": (Decimal(1), 2),
    "USD": (Decimal("1.392"), 2),
    "EUR": (Decimal("1.615"), 2),
    "GBP": (Decimal("1.862"), 2),
    "USDC": (Decimal("1.391"), 6),
    "BTC": (Decimal(128_400), 8),
}
RATE_DECIMALS = 12


def import_conversions(partner: Partner, external_ids: Sequence[str], *, conversions: int) -> None:
    """Import the missing ones of this many conversions, shared out among these users."""
    existing = set(Conversion.objects.filter(partner=partner).values_list("conversion_id", flat=True))
    numbers = range(1, conversions + 1) if external_ids else ()
    records = (_record(partner, external_ids[number % len(external_ids)], number) for number in numbers)
    missing = (json.dumps(record).encode() for record in records if record["conversionId"] not in existing)
    lines = enumerate(missing, 1)
    while batch := [parse_conversion(number, line) for number, line in islice(lines, BATCH)]:
        _, rejected = store(batch)
        if rejected:
            raise RuntimeError(f"Demo conversions were rejected: {rejected}")


def _record(partner: Partner, external_id: str, number: int) -> dict[str, object]:
    """A line of an import."""
    rng = random.Random(f"conversion {number}")  # noqa: S311 - repeatable, not secret
    # Recent times are more likely. Every tenth conversion has the same time as others of its user.
    age = PERIOD * (0.25 if number % 10 == 0 else rng.random() ** 2)
    source, target = rng.sample(list(CURRENCIES), 2)
    (source_value, source_decimals), (target_value, target_decimals) = CURRENCIES[source], CURRENCIES[target]
    amount = round(Decimal(rng.lognormvariate(6, 1)) / source_value, source_decimals)
    rate = round(source_value / target_value * Decimal(rng.gauss(1, 0.01)), RATE_DECIMALS)
    return {
        "partner": partner.slug,
        "externalId": external_id,
        "conversionId": f"demo-cv-{number:08d}",
        "createdAt": (partner.created_at - age).isoformat(),
        "type": "conversion",
        "from": {"currency": source, "amount": f"{amount:f}"},
        "to": {"currency": target, "amount": f"{round(amount * rate, target_decimals):f}"},
        "rate": f"{rate:f}",
    }
