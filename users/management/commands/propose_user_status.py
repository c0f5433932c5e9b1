from core.management.arguments import REASON
from users.decisions import proposals
from users.management.base import REASON_CODE, TAKE_OVER, TO_STATUS, USER, CaseCommand, by


class Command(CaseCommand):
    help = "Proposes a move of a user's status that takes two people."
    arguments = (USER, TO_STATUS, REASON, REASON_CODE, by("the first of two people"), TAKE_OVER)
    rule = staticmethod(proposals.propose)
    data = {"proposalId": "result.pk", "expiresAt": "result.expires_at"}
    text = "Proposal {proposalId} waits for another account until {expiresAt}."
