from core.management.arguments import number
from core.management.base import Outcome, ServiceCommand, table
from users import retention


class Command(ServiceCommand):
    help = "Lists the users whose records are due for erasure, or will be within N days, oldest first."
    arguments = (number("--within-days", 0, 36_600, "those too that will be due within so many days", default=0),)

    def perform(self, *, within_days: int) -> Outcome:
        rows = [
            {"partner": user.partner.slug, "externalId": user.external_id, "userId": user.pk}
            | {"dueAt": user.due_at, "held": user.held}
            for user in retention.due_users(within_days=within_days)
        ]
        held = sum(row["held"] for row in rows)
        data = {"due": len(rows), "held": held, "users": rows}
        return Outcome(data, [*table(rows), f"{len(rows)} due, {held} of them held."])
