"""`manage.py reencrypt_secrets`."""

import sys
from argparse import ArgumentParser
from collections.abc import Iterator
from typing import Any

from partners.authentication.reencryption import Count, reencrypt, stores
from partners.management.base import Outcome, ServiceCommand, whole_number

LARGEST_BATCH = 10_000


class Command(ServiceCommand):
    """Moves stored secrets to the newest of SECRETS_ENCRYPTION_KEYS."""

    help = (
        "Encrypts stored secrets anew under the first of SECRETS_ENCRYPTION_KEYS, in batches; safe while serving, and"
        " safe to run again. Exit status 1 where a secret is under no present key."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        """[--dry-run] [--batch-size 100]."""
        super().add_arguments(parser)
        parser.add_argument("--dry-run", action="store_true", help="count what would be done, and change nothing")
        parser.add_argument(
            "--batch-size",
            type=whole_number(1, LARGEST_BATCH),
            default=100,
            metavar="N",
            help="rows locked and written in one transaction (default: 100)",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Runs it; the exit status says whether every secret can be read."""
        super().handle(*args, **options)
        if self.unreadable:
            sys.exit(1)

    def perform(self, *, dry_run: bool, batch_size: int, **_: Any) -> Outcome:
        """Encrypts anew, a batch at a time: what is done stays done if a later batch fails."""
        counts = reencrypt(batch_size=batch_size, dry_run=dry_run)
        self.unreadable = [name for count in counts.values() for name in count.unreadable]
        for name in self.unreadable:
            self.stderr.write(f"{name}: under no present key.")
        data = {
            name: {"renewed": count.renewed, "current": count.current, "unreadable": count.unreadable}
            for name, count in counts.items()
        }
        return Outcome({"dryRun": dry_run, **data}, _lines(counts, dry_run=dry_run))


def _lines(counts: dict[str, Count], *, dry_run: bool) -> Iterator[str]:
    done = "to be encrypted anew" if dry_run else "encrypted anew"
    for store in stores():
        count = counts[store.name]
        yield (
            f"{store.title}: {count.renewed} {done}, {count.current} under the newest key already,"
            f" {len(count.unreadable)} under no present key."
        )
    if not any(count.renewed or count.unreadable for count in counts.values()):
        yield "All are under the newest key: the older ones can be retired."
