from collections.abc import Iterator

from core.encryption import Count, reencrypt
from core.management.arguments import DRY_RUN, number
from core.management.base import Outcome, ServiceCommand
from events.webhooks.endpoints import WEBHOOKS
from partners.authentication.keys import API_KEYS
from staff.login.factors import SECOND_FACTORS
from users.file import entries

ENCRYPTED_COLUMNS = (API_KEYS, WEBHOOKS, SECOND_FACTORS, entries.ENCRYPTED)


class Command(ServiceCommand):
    help = (
        "Re-encrypts stored secrets under the first of SECRETS_ENCRYPTION_KEYS, in batches; safe while serving, and"
        " safe to repeat. Exit status 1 if a secret is under no present key."
    )
    records_run = True
    arguments = (DRY_RUN, number("--batch-size", 1, 10_000, "rows in one transaction", default=100))

    def perform(self, *, dry_run: bool, batch_size: int) -> Outcome:
        counts = {column.key: reencrypt(column, batch_size=batch_size, dry_run=dry_run) for column in ENCRYPTED_COLUMNS}
        unreadable = [name for count in counts.values() for name in count.unreadable]
        for name in unreadable:
            self.stderr.write(f"{name}: under no present key.")
        return Outcome(
            {"dryRun": dry_run, **{key: vars(count) for key, count in counts.items()}},
            _lines(counts, verb="to re-encrypt" if dry_run else "re-encrypted"),
            status=1 if unreadable else 0,
        )


def _lines(counts: dict[str, Count], *, verb: str) -> Iterator[str]:
    for column in ENCRYPTED_COLUMNS:
        count = counts[column.key]
        yield (
            f"{column.title}: {count.renewed} {verb}, {count.current} already under the newest key,"
            f" {len(count.unreadable)} under no present key."
        )
    if not any(count.renewed or count.unreadable for count in counts.values()):
        yield "All are under the newest key: the older ones can be retired."
