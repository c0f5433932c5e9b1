from core.management.arguments import row_id
from users.decisions import proposals
from users.management import NOTE, TAKE_OVER, CaseCommand, by
from users.models import Proposal


class Command(CaseCommand):
    help = "Approves another person's proposal: the user's status moves."
    row = Proposal
    arguments = (row_id("proposal_id", "PROPOSAL_ID"), by("the second of two people"), NOTE, TAKE_OVER)
    rule = staticmethod(proposals.approve)
    data = {"status": "result.to_status", "state": "result.proposal.state"}
    text = "Approved: {result.from_status} → {status}."
