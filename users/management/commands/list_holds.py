from typing import Any

from core.management.arguments import Argument
from core.management.base import Outcome, ServiceCommand, listing
from users.models import Hold
from users.retention.holds import in_force


class Command(ServiceCommand):
    help = "Lists the holds on users' records, oldest first."
    arguments = (Argument("--all", action="store_true", dest="show_all", help="those that were released too"),)

    def perform(self, *, show_all: bool) -> Outcome:
        holds = Hold.objects.all() if show_all else in_force(Hold.objects.all())
        found = holds.select_related("user__partner", "by", "release__by").order_by("created_at", "id")
        return listing("holds", [_row(hold) for hold in found.iterator()])


def _row(hold: Hold) -> dict[str, Any]:
    release = getattr(hold, "release", None)
    return {
        "holdId": hold.pk,
        "partner": hold.user.partner.slug,
        "externalId": hold.user.external_id,
        "reason": hold.reason,
        "by": hold.by.get_username(),
        "createdAt": hold.created_at,
        "releasedBy": release.by.get_username() if release else None,
        "releasedAt": release.created_at if release else None,
    }
