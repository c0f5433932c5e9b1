from core.management.base import Outcome, ServiceCommand, listing
from staff.accounts import DORMANT_DAYS, dormant_days, role_names, second_factors, sign_in_methods, state_of
from staff.models import Staff


class Command(ServiceCommand):
    help = "Lists the staff accounts: roles, second factor, how they sign in, last sign-in, days without one, state."

    def perform(self) -> Outcome:
        accounts = list(Staff.objects.filter(is_staff=True).order_by("username").prefetch_related("groups"))
        factors, methods = second_factors(accounts), sign_in_methods(accounts)
        return listing(
            "staff",
            [
                {
                    "username": one.username,
                    "roles": role_names(one),
                    "secondFactor": one.pk in factors,
                    "signIn": methods[one.pk].value,
                    "lastSignInAt": one.last_login,
                    "dormantDays": dormant_days(one),
                    "state": state_of(one).value,
                }
                for one in accounts
            ],
            dormantDays=lambda days: f"{days}{' !' if days >= DORMANT_DAYS else ''}",
        )
