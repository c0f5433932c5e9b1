"""Conversions that a sandbox partner simulates, by the rules of imports: contract, section 11."""

import uuid
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from django.db.models import QuerySet
from django.db.models.expressions import RawSQL

from core.database.query import wire_time
from core.formats.rfc_3339 import format_timestamp
from core.refusals import RefusedError
from transactions import imports
from transactions.models import Conversion
from users.models import User

# A partner waits for the answer, unlike an import.
STATEMENT_SECONDS, LOCK_SECONDS = 4, 3
OTHER_CONTENT = "A conversion with this conversionId and other content exists."


def simulate_conversions(*, user: User, slug: str, items: Sequence[Mapping[str, Any]]) -> list[str]:
    """Record conversions of a sandbox user, all or none; return their JSON in the order of the items.

    slug: of the user's partner. items: of SimulatedConversionSerializer; `conversionId` and `createdAt` may be absent.
    One that is recorded already with the same content is returned as it is.
    Raises RefusedError; ValueError for a user who is real.
    """
    if not user.is_sandbox:
        raise ValueError("Conversions of real users are not simulated.")
    rows, ids = list[imports.Row](), list[str]()
    now = format_timestamp(datetime.now(UTC))
    # Sent again without a time, a conversion is the same: of simultaneous requests, the later ones wait and find it.
    untimed = [item["conversionId"] for item in items if "conversionId" in item and "createdAt" not in item]
    if untimed:
        User.objects.select_for_update(no_key=True).get(pk=user.pk)
    times = {conversion_id: created_at for conversion_id, created_at, _item in _recorded(user, untimed)}
    for index, item in enumerate(items):
        conversion_id = item.get("conversionId") or f"sandbox-{uuid.uuid4()}"
        created_at = item["createdAt"].isoformat() if "createdAt" in item else times.get(conversion_id, now)
        times.setdefault(conversion_id, created_at)
        sides = [item[side][part] for side in ("from", "to") for part in ("currency", "amount")]
        head = (str(index), slug, user.external_id, conversion_id, created_at, "conversion")
        rows.append((*head, *sides, item["rate"]))
        ids.append(conversion_id)
    _, other = imports.store(rows, statement_seconds=STATEMENT_SECONDS, lock_seconds=LOCK_SECONDS)
    if other:
        raise RefusedError(f"items[{min(other)}]: {OTHER_CONTENT}")
    written = {conversion_id: item for conversion_id, _created_at, item in _recorded(user, ids)}
    return [written[conversion_id] for conversion_id in ids]


def _recorded(user: User, ids: Sequence[str]) -> QuerySet[Any, tuple[str, str, str]]:
    """The conversions of the user's partner with these ids: id, createdAt and the item, as a list has them."""
    rows = Conversion.objects.filter(partner=user.partner_id, conversion_id__in=ids)
    return rows.values_list("conversion_id", RawSQL(wire_time("created_at"), ()), RawSQL(Conversion.wire, ()))  # noqa: S611
