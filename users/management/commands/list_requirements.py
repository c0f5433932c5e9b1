from django.utils import timezone

from core.management.arguments import Argument
from core.management.base import Outcome, ServiceCommand, listing
from partners.management import PARTNER
from partners.models import Partner
from users.requirements.lifecycle import not_closed_of_partner


class Command(ServiceCommand):
    help = "Lists a partner's requirements that are not closed, oldest first."
    arguments = (
        PARTNER,
        Argument("--overdue", action="store_true", help="only open ones whose answer was due before now"),
    )

    def perform(self, *, partner: Partner, overdue: bool) -> Outcome:
        found = not_closed_of_partner(partner, overdue=overdue)
        return listing(
            "requirements",
            [
                {
                    "requirementId": one.pk,
                    "externalId": one.user.external_id,
                    "code": one.code,
                    "state": one.state,
                    "dueAt": one.due_at,
                    # Whole days: 0 on the last one, negative once it has passed.
                    "daysLeft": (one.due_at - timezone.now()).days,
                }
                for one in found
            ],
        )
