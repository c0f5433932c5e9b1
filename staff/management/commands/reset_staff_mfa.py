from core.management.arguments import reason
from core.management.base import Outcome, ServiceCommand
from staff.access import reset_second_factor
from staff.management import STAFF
from staff.models import Staff


class Command(ServiceCommand):
    help = "Removes a lost second factor and ends the person's sessions; they enrol again at the next login."
    arguments = (STAFF, reason("stored permanently: how you verified their identity"))

    def perform(self, *, staff: Staff, reason: str) -> Outcome:
        factors, ended = reset_second_factor(staff=staff, reason=reason)
        return Outcome(
            {"username": staff.username, "factors": factors, "sessions": ended},
            f"Second factors removed from {staff.username}: {factors}; sessions ended: {ended}.\n"
            "They enrol a new one at the next login.",
        )
