from partners.management.base import Outcome, optional_rfc_3339
from users.decisions.compliance import change_status
from users.management.base import StatusMoveCommand
from users.models import Staff, User


class Command(StatusMoveCommand):
    help = "Moves a user's status, with the rules and the history of the back office."
    by_help = "an active account that may decide"

    def move(self, *, user: User, to_status: str, by: Staff, reason: str, reason_code: str | None) -> Outcome:
        change = change_status(user=user, to_status=to_status, by=by, reason=reason, reason_code=reason_code)
        return Outcome(
            {
                "userId": str(user.pk),
                "externalId": user.external_id,
                "fromStatus": change.from_status,
                "status": user.status,
                "updatedAt": optional_rfc_3339(user.updated_at),
            },
            [f"User {user.external_id} of {user.partner.slug}: {change.from_status} → {user.status}."],
        )
