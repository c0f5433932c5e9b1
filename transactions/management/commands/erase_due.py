import sys

from django.core.management.base import CommandError
from tqdm import tqdm

from core.database import serving_role
from core.management.base import Outcome, ServiceCommand, collected_signals, stop_for
from transactions.documents.publishing import delete_files
from users import retention
from users.management import confirm


class Command(ServiceCommand):
    help = (
        "Erases the users of approved erasures who are still due and not held. Without --confirm it only says what it"
        " would do. Each user is a transaction of its own: a run that was interrupted is simply run again. Needs"
        " OWNER_DATABASE_URL."
    )

    arguments = (confirm("as it says without; any other is refused"),)

    def perform(self, *, confirm: int | None) -> Outcome:
        self.owner = serving_role.owner_alias()
        found = list(retention.approved_users(using=self.owner).values_list("user_id", "held", "is_due", named=True))
        due, held = [one.user_id for one in found if one.is_due], sum(one.held for one in found)
        counts = {"approved": len(found), "held": held}
        text = f"{len(found)} approved, {held} of them held"
        if not_due := len(found) - held - len(due):
            text += f", {not_due} not due any more"
        if confirm is None:
            said = f"Nothing was erased. {text}. To erase {len(due)}: --confirm {len(due)}"
            return Outcome({**counts, "erased": 0}, said)
        if confirm != len(due):
            raise CommandError(f"Not {confirm} but {len(due)} would be erased now: nothing was erased.")
        erased = 0
        with collected_signals() as signals:
            for user_id in tqdm(due, unit="user", file=sys.stderr, disable=None):
                if signals:
                    break
                erased += retention.erase(user_id, context=self.actor({}), using=self.owner)
            # Those that an earlier run left, too.
            left = delete_files(using=self.owner)
        ended = f"{erased} of {len(due)} were erased"
        stop_for(signals, f": {ended}. Run it again for the others")
        if left:
            raise CommandError(f"{ended}; {left} files could not be deleted: run it again once the storage works.")
        lines = [f"{text}; {erased} erased."]
        if erased < len(due):
            lines.append(f"{len(due) - erased} were in use, or held meanwhile: run it again.")
        return Outcome({**counts, "erased": erased}, lines)
