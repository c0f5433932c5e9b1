from core.management.arguments import Argument, reason
from core.management.base import ServiceCommand
from partners.management import find_partner
from users import retention
from users.management import ERASER, by, confirm


class Command(ServiceCommand):
    help = (
        "Proposes the erasure of all records that are due, are not held and are in no other erasure. Another account"
        " approves it, then erase_due carries it out."
    )
    arguments = (
        confirm("as retention_report has it; any other is refused", required=True, dest="count"),
        reason("stored until the first of them is erased"),
        Argument("--partner", metavar="SLUG", find=find_partner, help="only of this partner's users"),
        by(f"the first of two people, {ERASER}"),
    )
    rule = staticmethod(retention.propose_erasure)
    data = {"erasureId": "result.pk", "users": "result.users", "expiresAt": "result.expires_at"}
    text = "Erasure {erasureId} of {users} users waits for another account until {expiresAt}."
