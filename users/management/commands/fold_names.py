from typing import Any

from partners.management.base import Outcome, ServiceCommand
from users import queries
from users.models import User
from users.profile.names import fold_name

BATCH_SIZE = 1_000


class Command(ServiceCommand):
    help = (
        "Makes the columns by which names are compared and found, of users that an earlier version stored, in batches;"
        " safe while serving, and safe to repeat."
    )

    records_run = True

    def perform(self, **_: Any) -> Outcome:
        count = 0
        users = User.objects.filter(name_key=None).order_by("pk").values_list("pk", "first_name", "last_name")
        batch = list(users[:BATCH_SIZE])
        while batch:
            names = [(first_name, last_name) for _pk, first_name, last_name in batch]
            user_ids = [pk for pk, *_names in batch]
            count += queries.store_names(user_ids, names, [fold_name(*name) for name in names])
            batch = list(users.filter(pk__gt=user_ids[-1])[:BATCH_SIZE])
        return Outcome({"folded": count}, [f"{count} names were folded."])
