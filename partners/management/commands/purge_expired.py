"""`manage.py purge_expired`."""

from argparse import ArgumentParser
from typing import Any

from partners.management.base import Outcome, ServiceCommand, whole_number
from partners.retention import purge_expired

LARGEST_BATCH = 100_000


class Command(ServiceCommand):
    """Removes what has served its time."""

    help = (
        "Removes idempotency records past their 24 hours, signatures that no request can repeat, and usage"
        " counters older than 8 days, in batches; safe while serving. Run it every day."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        """[--batch-size 1000]."""
        super().add_arguments(parser)
        parser.add_argument(
            "--batch-size",
            type=whole_number(1, LARGEST_BATCH),
            default=1000,
            metavar="N",
            help="rows in one transaction (default: 1000)",
        )

    def perform(self, *, batch_size: int, **_: Any) -> Outcome:
        """Removes it, a batch at a time: what is removed stays so if a later batch fails."""
        purged = purge_expired(batch_size=batch_size)
        told = (
            f"Removed {purged.idempotency_records} idempotency records, {purged.used_signatures} used signatures"
            f" and {purged.usage_counters} usage counters."
        )
        return Outcome(
            {
                "idempotencyRecords": purged.idempotency_records,
                "usedSignatures": purged.used_signatures,
                "usageCounters": purged.usage_counters,
            },
            [told],
        )
