from core.management.arguments import Argument
from core.management.base import Outcome, ServiceCommand, listing
from partners.management import PARTNER
from partners.models import Partner
from users.models import Proposal


class Command(ServiceCommand):
    help = "Lists the open proposals about a partner's users, newest first."
    arguments = (PARTNER, Argument("--all", action="store_true", dest="show_all", help="those that have ended too"))

    def perform(self, *, partner: Partner, show_all: bool) -> Outcome:
        found = Proposal.objects.with_ends() if show_all else Proposal.objects.with_ends().open()
        found = found.filter(user__partner=partner).select_related("user", "by", "ended_by")
        return listing(
            "proposals",
            [
                {
                    "proposalId": proposal.pk,
                    "externalId": proposal.user.external_id,
                    "from": proposal.from_status,
                    "to": proposal.to_status,
                    "reason": proposal.reason,
                    "by": proposal.by.get_username(),
                    "createdAt": proposal.created_at,
                    "expiresAt": proposal.expires_at,
                    "state": proposal.present_state.value,
                    "endedBy": proposal.ended_by.get_username() if proposal.ended_by else None,
                    "endedAt": proposal.present_end,
                }
                for proposal in found.order_by("-created_at", "-id").iterator()
            ],
            "proposalId externalId from to by createdAt state endedBy",
        )
