"""Conversions that a sandbox partner simulates, by the rules of imports: contract, section 11."""

import json
import uuid
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from partners.refusals import RefusedError
from partners.rfc_3339 import format_timestamp, rfc_3339_from_text
from transactions import keyset
from transactions.imports.lines import parse_line
from transactions.imports.staging import Batch, Database
from transactions.keyset import ConversionRow
from transactions.timestamps import parse_created_at
from users.models import User

# A partner waits for the answer, unlike an import.
STATEMENT_SECONDS, LOCK_SECONDS = 4, 3
OTHER_CONTENT = "A conversion with this conversionId and other content exists."


def simulate_conversions(*, user: User, slug: str, items: Sequence[Mapping[str, Any]]) -> list[ConversionRow]:
    """Record conversions of a sandbox user, all or none; return them in the order of the items.

    slug: of the user's partner. items: objects of an import's line, of which `conversionId` and `createdAt` may be
    absent. One that is recorded already with the same content is returned as it is.
    Raises RefusedError. Raises ValueError for a user who is real, and for an item that an import would refuse.
    """
    if not user.is_sandbox:
        raise ValueError("Conversions of real users are not simulated.")
    batch, ids = Batch(), []
    now = format_timestamp(datetime.now(UTC))
    # Sent again without a time, a conversion is the same: of simultaneous requests, the later ones wait and find it.
    untimed = [item["conversionId"] for item in items if "conversionId" in item and "createdAt" not in item]
    if untimed:
        User.objects.select_for_update(no_key=True).get(pk=user.pk)
    stored = keyset.conversions_by_id(user.partner_id, untimed) if untimed else []
    times = {row.conversion_id: rfc_3339_from_text(row.created_at) for row in stored}
    for index, item in enumerate(items):
        created_at = times.get(item.get("conversionId", ""), now)
        defaults = {"conversionId": f"sandbox-{uuid.uuid4()}", "createdAt": created_at}
        if "createdAt" in item:
            # Any number of zeros may follow the microseconds: the line would be longer than an import's may be.
            item = {**item, "createdAt": parse_created_at(item["createdAt"]).isoformat()}  # noqa: PLW2901
        whole = {**defaults, **item, "type": "conversion", "partner": slug, "externalId": user.external_id}
        line = json.dumps(whole).encode()
        batch.add(index, line, parse_line(line))
        ids.append(whole["conversionId"])
        times.setdefault(whole["conversionId"], whole["createdAt"])
    if other := Database(statement_seconds=STATEMENT_SECONDS, lock_seconds=LOCK_SECONDS)(batch).problems:
        raise RefusedError(f"items[{min(other)}]: {OTHER_CONTENT}")
    rows = {row.conversion_id: row for row in keyset.conversions_by_id(user.partner_id, ids)}
    return [rows[conversion_id] for conversion_id in ids]
