from datetime import timedelta

from core import audit
from core.database import statements
from core.management.arguments import number
from core.management.base import Outcome, ServiceCommand
from core.models import SANDBOX_DAYS, AuditEntry
from events.models import WebhookEndpoint
from partners import request_log
from partners.api import idempotency
from partners.models import KEY_DAYS, KEY_ENDED_AT, KEY_PREFIXES, SANDBOX_KEY_DAYS, Mode

EVENTS_KEPT = timedelta(days=30)
# The largest CLOCK_SKEW_SECONDS that the settings allow, and a margin for differing clocks.
SIGNATURE_WINDOW = timedelta(seconds=3600) + timedelta(hours=1)

# Oldest first, after the last row of the previous batch: its index entries would be read again until a vacuum.
_DELETE = """
    WITH deleted AS (
        DELETE FROM {table}
         WHERE ctid = ANY(ARRAY(
               SELECT ctid FROM {rows} WHERE {time} >= %s::timestamptz AND {time} < now() - %s::interval
                ORDER BY {time} LIMIT %s {lock}))
     RETURNING {time} AS time)
    SELECT count(*), max(time) FROM deleted
"""
# A row that is locked by a request is being renewed.
SKIP_LOCKED = "FOR UPDATE SKIP LOCKED"

# By OFFSET a range of an index for each: entries of live partners stay for good, and are not to be read.
_BY_SANDBOX = f"""
    (SELECT entry.* FROM partners_partner CROSS JOIN LATERAL (
            SELECT ctid, at FROM core_auditentry
             WHERE actor = slug AND actor_kind = 'partner' AND at < now() - interval '{SANDBOX_DAYS} days'
            OFFSET 0) AS entry WHERE mode = 'sandbox') AS of_sandbox
"""
_OF_SANDBOX_OR_OLD = f"""
    (SELECT ctid, * FROM partners_apikey WHERE starts_with(prefix, '{KEY_PREFIXES[Mode.SANDBOX]}')
         OR {KEY_ENDED_AT} < now() - interval '{KEY_DAYS} days') AS of_sandbox_or_old
"""
# By the name in `--json`: table, time, age, which rows, where not all, and the lock.
_EXPIRED = {
    "idempotencyRecords": ("partners_idempotencyrecord", "completed_at", idempotency.WINDOW, "", SKIP_LOCKED),
    # The serving role may not update these rows, and therefore not lock them.
    "usedSignatures": ("partners_usedsignature", "signed_at", SIGNATURE_WINDOW, "", ""),
    "sandboxRequests": ("partners_sandboxrequest", "created_at", request_log.KEPT, "", ""),
    "auditEntries": ("core_auditentry", "at", timedelta(days=SANDBOX_DAYS), _BY_SANDBOX, ""),
    "apiKeys": ("partners_apikey", KEY_ENDED_AT, timedelta(days=SANDBOX_KEY_DAYS), _OF_SANDBOX_OR_OLD, ""),
    # Before the events, of which they leave little to do.
    "webhookDeliveries": ("events_webhookdelivery", "created_at", EVENTS_KEPT, "", SKIP_LOCKED),
}
_FEEDS = "SELECT partner_id FROM events_eventfeed WHERE purged_position < last_position ORDER BY partner_id"
# It keeps those of EVENTS_KEPT.
_PURGE_EVENTS = "SELECT purged FROM events_purge(%s, %s)"


class Command(ServiceCommand):
    help = (
        "Removes idempotency records and sandbox partners' requests after 24 hours, used signatures that no request"
        " can repeat, events and deliveries after 30 days, audit entries of what sandbox partners did by themselves"
        " after 90 days, and API keys a year after their end, in batches; safe while serving. Run it every day."
    )
    arguments = (number("--batch-size", 1, 100_000, "rows in one transaction", default=1000),)

    def perform(self, *, batch_size: int) -> Outcome:
        purged = {name: purge(*what, batch_size) for name, what in _EXPIRED.items()}
        # Removed webhooks go when their last delivery has gone.
        WebhookEndpoint.objects.filter(removed_at__isnull=False, deliveries=None).delete()
        purged["events"] = 0
        for (partner_id,) in statements.fetch_all(_FEEDS, ()):
            deleted = batch_size
            while deleted == batch_size:
                (deleted,) = statements.fetch_one(_PURGE_EVENTS, (partner_id, batch_size)) or (0,)
                purged["events"] += deleted
        # Last, so that monitoring sees a run that failed as none.
        audit.record(AuditEntry.COMMAND_RUN, object=self.name)
        text = (
            "Removed {idempotencyRecords} idempotency records, {usedSignatures} used signatures, {webhookDeliveries}"
            " webhook deliveries, {sandboxRequests} sandbox requests, {auditEntries} audit entries, {apiKeys} API keys"
            " and {events} events."
        )
        return Outcome(purged, text.format(**purged))


def purge(table: str, time: str, age: timedelta, rows: str, lock: str, batch_size: int) -> int:
    """Remove the rows of a table whose time is older than `age`, each batch in a transaction; return their number."""
    statement = _DELETE.format(table=table, time=time, rows=rows or table, lock=lock)
    total: int = 0
    oldest: object = "-infinity"
    while True:
        deleted, oldest = statements.fetch_one(statement, (oldest, age, batch_size)) or (0, None)
        total += deleted
        if deleted < batch_size:
            return total
