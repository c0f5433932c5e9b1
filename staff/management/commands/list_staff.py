from core.management.base import Outcome, ServiceCommand, listing
from staff.accounts import PREFETCHED, role_names, second_factors, state_of
from staff.models import Staff


class Command(ServiceCommand):
    help = "Lists the staff accounts: roles, second factor, last sign-in, state."

    def perform(self) -> Outcome:
        accounts = Staff.objects.filter(is_staff=True).order_by("username").prefetch_related(*PREFETCHED)
        return listing(
            "staff",
            [
                {
                    "username": one.username,
                    "roles": role_names(one),
                    "secondFactor": bool(second_factors(one)),
                    "lastSignInAt": one.last_login,
                    "state": state_of(one).value,
                }
                for one in accounts
            ],
        )
