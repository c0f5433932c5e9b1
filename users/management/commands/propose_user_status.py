from core.management.arguments import REASON
from users.decisions.compliance import Decision
from users.decisions.proposals import propose
from users.management import REASON_CODE, TAKE_OVER, TO_STATUS, USER, CaseCommand, by


class Command(CaseCommand):
    help = "Proposes a move of a user's status that takes two people."
    arguments = (USER, TO_STATUS, REASON, REASON_CODE, by("the first of two people"), TAKE_OVER)
    rule = staticmethod(lambda **decision: propose(Decision(**decision)))
    data = {"proposalId": "result.pk", "expiresAt": "result.expires_at"}
    text = "Proposal {proposalId} waits for another account until {expiresAt}."
