"""Removes rows that have served their time."""

from datetime import timedelta

from core.database import statements
from core.models import SANDBOX_DAYS
from partners import request_log
from partners.api import idempotency
from partners.models import WebhookEndpoint
from partners.models.partner import KEY_DAYS, KEY_ENDED_AT, KEY_PREFIXES, SANDBOX_KEY_DAYS, Mode

# The largest CLOCK_SKEW_SECONDS that the settings allow, and a margin for differing clocks.
SIGNATURE_WINDOW = timedelta(seconds=3600) + timedelta(hours=1)
# Contract, section 10.
EVENTS_KEPT = timedelta(days=30)

# Oldest first, after the last row of the previous batch: its index entries would be read again until a vacuum.
_DELETE = """
    WITH deleted AS (
        DELETE FROM {table}
         WHERE ctid = ANY(ARRAY(
               SELECT ctid FROM {table} WHERE {time} >= %s::timestamptz AND {time} < now() - %s::interval {more}
                ORDER BY {time} LIMIT %s {lock}))
     RETURNING {time} AS time)
    SELECT count(*), max(time) FROM deleted
"""
# A row that is locked by a request is being renewed.
_SKIP = "FOR UPDATE SKIP LOCKED"

_BY_SANDBOX = """
    AND actor_kind = 'partner' AND actor IN (SELECT slug FROM partners_partner WHERE mode = 'sandbox')
"""

_OF_SANDBOX_OR_OLD = (
    f"AND (starts_with(prefix, '{KEY_PREFIXES[Mode.SANDBOX]}') OR {KEY_ENDED_AT} < now() - interval '{KEY_DAYS} days')"
)

_FEEDS = "SELECT partner_id FROM partners_eventfeed WHERE purged_position < last_position ORDER BY partner_id"
# It keeps those of EVENTS_KEPT (partners/sql/partners_purge_events.sql).
_PURGE_EVENTS = "SELECT purged FROM partners_purge_events(%s, %s)"


def purge_expired(*, batch_size: int) -> dict[str, int]:
    """Remove what has expired; returns how many rows of each kind, by its name in `purge_expired --json`.

    Contract, sections 4, 10 and 11. Removed webhooks go when their last delivery has gone (section 10).
    Safe while serving: each batch is a transaction of its own, and stays removed if a later one fails.
    """
    purged = {
        name: _purge(_DELETE.format(table=table, time=time, more=more, lock=lock), age, batch_size)
        for name, table, time, age, more, lock in (
            ("idempotencyRecords", "partners_idempotencyrecord", "completed_at", idempotency.WINDOW, "", _SKIP),
            # The serving role may not update these rows, and therefore not lock them.
            ("usedSignatures", "partners_usedsignature", "signed_at", SIGNATURE_WINDOW, "", ""),
            # Deliveries come before the events, of which they leave little to do.
            ("webhookDeliveries", "partners_webhookdelivery", "created_at", EVENTS_KEPT, "", _SKIP),
            ("sandboxRequests", "partners_sandboxrequest", "created_at", request_log.KEPT, "", ""),
            ("auditEntries", "core_auditentry", "at", timedelta(days=SANDBOX_DAYS), _BY_SANDBOX, ""),
            ("apiKeys", "partners_apikey", KEY_ENDED_AT, timedelta(days=SANDBOX_KEY_DAYS), _OF_SANDBOX_OR_OLD, ""),
        )
    }
    WebhookEndpoint.objects.filter(removed_at__isnull=False, deliveries=None).delete()
    partners = [partner_id for (partner_id,) in statements.fetch_all(_FEEDS, ())]
    return purged | {"events": sum(_purge_events(partner_id, batch_size) for partner_id in partners)}


def _purge(statement: str, age: timedelta, batch_size: int) -> int:
    total: int = 0
    oldest: object = "-infinity"
    while True:
        deleted, latest = statements.fetch_one(statement, (oldest, age, batch_size)) or (0, None)
        total += deleted
        if deleted < batch_size:
            return total
        oldest = latest


def _purge_events(partner_id: int, batch_size: int) -> int:
    total: int = 0
    while True:
        (deleted,) = statements.fetch_one(_PURGE_EVENTS, (partner_id, batch_size)) or (0,)
        total += deleted
        if deleted < batch_size:
            return total
