from core.management.arguments import Argument
from core.management.base import ServiceCommand
from partners.management import PARTNER
from partners.models import Partner
from users.models import Proposal


def _found(*, partner: Partner, show_all: bool) -> object:
    found = Proposal.objects.all() if show_all else Proposal.objects.open()
    found = found.filter(user__partner=partner).select_related("user", "by", "ended_by").with_states()
    return found.order_by("-created_at", "-id").iterator()


class Command(ServiceCommand):
    help = "Lists the open proposals about a partner's users, newest first."
    arguments = (PARTNER, Argument("--all", action="store_true", dest="show_all", help="those that have ended too"))
    rule = staticmethod(_found)
    lists, columns = "proposals", "proposalId externalId from to by createdAt state endedBy"
    data = (
        {"proposalId": "pk", "externalId": "user.external_id", "from": "from_status", "to": "to_status"}
        | {"reason": "reason", "by": "by.username", "createdAt": "created_at", "expiresAt": "expires_at"}
        | {"state": "present_state", "endedBy": "ended_by.username", "endedAt": "present_end"}
    )
