from argparse import ArgumentParser
from typing import Any

from core.formats.rfc_3339 import format_timestamp
from partners.management.base import Outcome, ServiceCommand, table
from users.models import Hold
from users.records.holds import in_force


class Command(ServiceCommand):
    help = "Lists the holds on users' records, oldest first."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--all", action="store_true", dest="show_all", help="those that were released too")

    def perform(self, *, show_all: bool, **_: Any) -> Outcome:
        holds = Hold.objects.all() if show_all else in_force(Hold.objects.all())
        found = holds.select_related("user__partner", "by", "release__by").order_by("created_at", "id")
        listed = [_data(hold) for hold in found.iterator()]
        headings = ("HOLD", "PARTNER", "USER", "REASON", "BY", "CREATED", "RELEASED BY", "RELEASED")
        rows = [tuple(data.values()) for data in listed]
        return Outcome({"holds": listed}, table(headings, rows) if rows else ["There is none."])


def _data(hold: Hold) -> dict[str, Any]:
    release = getattr(hold, "release", None)
    return {
        "holdId": str(hold.pk),
        "partner": hold.user.partner.slug,
        "externalId": hold.user.external_id,
        "reason": hold.reason,
        "by": hold.by.get_username(),
        "createdAt": format_timestamp(hold.created_at),
        "releasedBy": release.by.get_username() if release else None,
        "releasedAt": format_timestamp(release.created_at) if release else None,
    }
