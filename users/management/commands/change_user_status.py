from core.management.arguments import REASON
from users.decisions.compliance import Decision, decide
from users.management import REASON_CODE, TAKE_OVER, TO_STATUS, USER, CaseCommand, by


class Command(CaseCommand):
    help = "Moves a user's status, with the rules and the history of the back office."
    arguments = (USER, TO_STATUS, REASON, REASON_CODE, by(), TAKE_OVER)
    rule = staticmethod(lambda **decision: decide(Decision(**decision)))
    data = {
        "userId": "user.pk",
        "externalId": "user.external_id",
        "fromStatus": "result.from_status",
        "status": "user.status",
        "updatedAt": "user.updated_at",
    }
    text = "User {externalId} of {user.partner.slug}: {fromStatus} → {status}."
