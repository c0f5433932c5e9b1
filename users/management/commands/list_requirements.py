from core.management.arguments import Argument
from core.management.base import ServiceCommand
from partners.management import PARTNER
from users.requirements import not_closed_of_partner


class Command(ServiceCommand):
    help = "Lists a partner's requirements that are not closed, oldest first."
    arguments = (
        PARTNER,
        Argument("--overdue", action="store_true", help="only open ones whose answer was due before now"),
    )
    rule = staticmethod(not_closed_of_partner)
    lists = "requirements"
    data = {"requirementId": "pk", "externalId": "user.external_id", "code": "code", "state": "state"} | {
        "dueAt": "due_at",
        "daysLeft": "days_left",
    }
