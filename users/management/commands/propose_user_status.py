from core.formats.rfc_3339 import format_timestamp
from partners.management.base import Outcome
from users.decisions import proposals
from users.management.base import StatusMoveCommand
from users.models import Staff, User


class Command(StatusMoveCommand):
    help = "Proposes a move of a user's status that takes two people."
    by_help = "the first of two people"

    def move(self, *, user: User, to_status: str, by: Staff, reason: str, reason_code: str | None) -> Outcome:
        proposal = proposals.propose(user=user, to_status=to_status, by=by, reason=reason, reason_code=reason_code)
        expires_at = format_timestamp(proposal.expires_at)
        return Outcome(
            {"proposalId": str(proposal.pk), "expiresAt": expires_at},
            [f"Proposal {proposal.pk} waits for another account until {expires_at}."],
        )
