from argparse import ArgumentParser
from typing import Any

from core.formats.rfc_3339 import format_timestamp
from partners.management.base import Outcome, ServiceCommand, find_partner, optional_rfc_3339, table
from users.models import Proposal


class Command(ServiceCommand):
    help = "Lists the open proposals about a partner's users, newest first."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("slug", metavar="SLUG", help="the partner's slug")
        parser.add_argument("--all", action="store_true", dest="show_all", help="those that have ended too")

    def perform(self, *, slug: str, show_all: bool, **_: Any) -> Outcome:
        found = Proposal.objects.with_ends() if show_all else Proposal.objects.with_ends().open()
        found = found.filter(user__partner=find_partner(slug)).select_related("user", "by", "ended_by")
        listed = [_data(proposal) for proposal in found.order_by("-created_at", "-id").iterator()]
        headings = ("PROPOSAL", "USER", "FROM", "TO", "BY", "CREATED", "STATE", "ENDED BY")
        names = ("proposalId", "externalId", "from", "to", "by", "createdAt", "state", "endedBy")
        rows = [tuple(data[name] for name in names) for data in listed]
        return Outcome({"proposals": listed}, table(headings, rows) if rows else [f"Partner {slug} has none."])


def _data(proposal: Proposal) -> dict[str, Any]:
    return {
        "proposalId": str(proposal.pk),
        "externalId": proposal.user.external_id,
        "from": proposal.from_status,
        "to": proposal.to_status,
        "reason": proposal.reason,
        "by": proposal.by.get_username(),
        "createdAt": format_timestamp(proposal.created_at),
        "expiresAt": format_timestamp(proposal.expires_at),
        "state": proposal.present_state.value,
        "endedBy": proposal.ended_by.get_username() if proposal.ended_by else None,
        "endedAt": optional_rfc_3339(proposal.present_end),
    }
