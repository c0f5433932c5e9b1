from core import audit
from core.management.arguments import batch_size
from core.management.base import Outcome, ServiceCommand
from core.models import AuditEntry
from events.retention import purge_events
from partners.retention import purge_requests


class Command(ServiceCommand):
    help = (
        "Removes idempotency records and sandbox partners' requests after 24 hours, used signatures that no request"
        " can repeat, events and deliveries after 30 days, audit entries of what sandbox partners did by themselves"
        " after 90 days, and API keys a year after their end, in batches; safe while serving. Run it every day."
    )
    arguments = (batch_size(100_000, default=1000),)

    def perform(self, *, batch_size: int) -> Outcome:
        purged = purge_requests(batch_size=batch_size) | purge_events(batch_size=batch_size)
        # Last, so that monitoring sees a run that failed as none.
        audit.record(AuditEntry.COMMAND_RUN, object=self.name)
        text = (
            "Removed {idempotencyRecords} idempotency records, {usedSignatures} used signatures, {webhookDeliveries}"
            " webhook deliveries, {sandboxRequests} sandbox requests, {auditEntries} audit entries, {apiKeys} API keys"
            " and {events} events."
        )
        return Outcome(purged, text.format(**purged))
