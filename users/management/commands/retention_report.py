from core.management.arguments import number
from core.management.base import Outcome, ServiceCommand, table
from users.retention.clock import due_users


class Command(ServiceCommand):
    help = "Lists the users whose records are due for erasure, or will be within N days, oldest first."
    arguments = (number("--within-days", 0, 36_600, "those too that will be due within so many days", default=0),)

    def perform(self, *, within_days: int) -> Outcome:
        users = due_users(within_days=within_days)
        rows = [
            {
                "partner": user.partner,
                "externalId": user.external_id,
                "userId": user.user_id,
                "dueAt": user.due_at,
                "held": user.held,
            }
            for user in users
        ]
        held = sum(user.held for user in users)
        data = {"due": len(rows), "held": held, "users": rows}
        return Outcome(data, [*table(rows), f"{len(rows)} due, {held} of them held."])
