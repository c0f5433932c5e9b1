import signal
import sys
from argparse import ArgumentParser
from collections.abc import Sequence
from typing import Any

from django.core.management.base import CommandError
from tqdm import tqdm

from partners.db import serving_role
from partners.management.base import (
    STATUS_OF_SIGNALS,
    Outcome,
    ServiceCommand,
    collected_signals,
    find_partner,
    whole_number,
)
from transactions.documents.erased_files import delete_files
from users.management.base import add_by
from users.models import Staff
from users.records.retention import DueUser, due_users, erase
from users.staff.staff import find_staff

# Files are deleted after so many users.
BATCH = 100
MOST = 100_000_000


class Command(ServiceCommand):
    help = (
        "Erases the records that are due for erasure. Without --confirm it only says what it would do. Each user is a"
        " transaction of its own: a run that was interrupted is simply run again. Needs OWNER_DATABASE_URL."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--partner", metavar="SLUG", help="only of this partner's users")
        parser.add_argument(
            "--confirm",
            type=whole_number(0, MOST),
            metavar="N",
            help="the number of users that are due, held ones included, as the rehearsal says it",
        )
        add_by(parser, "an active account, which it names")

    def perform(self, *, partner: str | None, confirm: int | None, by: str, **options: Any) -> Outcome:
        staff = find_staff(by)
        if not staff.is_active:
            raise CommandError(f"{staff.get_username()} is disabled.")
        if partner is not None:
            find_partner(partner)
        self.owner = serving_role.owner_alias()
        due = due_users(partner=partner, using=self.owner)
        unheld = [user for user in due if not user.held]
        counts = {"due": len(due), "held": len(due) - len(unheld)}
        text = f"{counts['due']} due, {counts['held']} of them held"
        if confirm is None:
            return Outcome(
                {**counts, "erased": 0},
                [f"Nothing was erased. {text}. To erase {len(unheld)}: --confirm {counts['due']}"],
            )
        if confirm != counts["due"]:
            raise CommandError(f"Not {confirm} but {counts['due']} are due now: nothing was erased.")
        with collected_signals() as signals:
            erased, left = self._erase(unheld, staff, {**self.actor({"by": by}), "staff": by}, signals)
        ended = f"{erased} of {len(unheld)} were erased"
        if signals:
            number = signals[0]
            raise CommandError(
                f"Stopped by {number.name}: {ended}. Run it again for the others.",
                returncode=STATUS_OF_SIGNALS + number,
            )
        if left:
            raise CommandError(f"{ended}; {left} files could not be deleted: run it again once the storage works.")
        lines = [f"{text}; {erased} erased."]
        if erased < len(unheld):
            lines.append(f"{len(unheld) - erased} were in use, or held or decided about meanwhile: run it again.")
        return Outcome({**counts, "erased": erased}, lines)

    def _erase(
        self, users: Sequence[DueUser], staff: Staff, context: dict[str, str], signals: Sequence[signal.Signals]
    ) -> tuple[int, int]:
        """Erase users until a signal comes: how many were erased, and how many files are left."""
        erased = 0
        # Those that an earlier run left.
        left = delete_files(using=self.owner)
        with tqdm(total=len(users), unit="user", file=sys.stderr, disable=None) as progress:
            for number, user in enumerate(users, start=1):
                if signals:
                    break
                erased += erase(user.user_id, by=staff, context=context, using=self.owner)
                progress.update()
                if number % BATCH == 0 and not left:
                    left = delete_files(using=self.owner)
        return erased, delete_files(using=self.owner) if users else left
