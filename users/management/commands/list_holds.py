from core.management.arguments import Argument
from core.management.base import ServiceCommand
from users.models import Hold


def _found(*, show_all: bool) -> object:
    holds = Hold.objects.all() if show_all else Hold.objects.filter(release=None)
    return holds.select_related("user__partner", "by", "release__by").order_by("created_at", "id").iterator()


class Command(ServiceCommand):
    help = "Lists the holds on users' records, oldest first."
    arguments = (Argument("--all", action="store_true", dest="show_all", help="those that were released too"),)
    rule = staticmethod(_found)
    lists = "holds"
    data = (
        {"holdId": "pk", "partner": "user.partner.slug", "externalId": "user.external_id", "reason": "reason"}
        | {"by": "by.username", "createdAt": "created_at"}
        | {"releasedBy": "release.by.username", "releasedAt": "release.created_at"}
    )
