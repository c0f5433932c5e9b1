from core.management.arguments import Argument, row_id
from core.management.base import ServiceCommand
from users.decisions import proposals
from users.management import by


class Command(ServiceCommand):
    help = "Declines a proposal: the user's status stays."
    arguments = (
        row_id("proposal_id", "PROPOSAL_ID"),
        by(),
        Argument("--note", required=True, metavar="TEXT", help="why; stored permanently"),
    )
    rule = staticmethod(proposals.decline)
    data = {"status": "result.from_status", "state": "result.state"}
    text = "Declined: the user stays {status}."
