from itertools import chain

from core.database import statements
from core.database.pipeline import Query
from core.management.arguments import number
from core.management.base import Outcome, ServiceCommand, table
from users import retention

_NAMES = ("partner", "externalId", "userId", "dueAt", "held")
_LOOKUPS = ("partner__slug", "external_id", "pk", "due_at", "held")


class Command(ServiceCommand):
    help = "Lists the users whose records are due for erasure, or will be within N days, oldest first."
    arguments = (number("--within-days", 0, 36_600, "those too that will be due within so many days", default=0),)

    def perform(self, *, within_days: int) -> Outcome:
        due = retention.due_users(within_days=within_days).values_list(*_LOOKUPS)
        query = Query(*due.query.sql_with_params(), lambda row: dict(zip(_NAMES, row, strict=True)))
        rows = statements.fetch_within(retention.STATEMENT_SECONDS, query)
        held = sum(row["held"] for row in rows)
        data = {"due": len(rows), "held": held, "users": rows}
        return Outcome(data, chain(table(rows), [f"{len(rows)} due, {held} of them held."]))
