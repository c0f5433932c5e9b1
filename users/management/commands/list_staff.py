from typing import Any

from partners.management.base import Outcome, ServiceCommand, optional_rfc_3339, table
from users.models import Staff
from users.staff.staff import DORMANT_DAYS, dormant_days, role_names, second_factors, sign_in_methods, state_of


class Command(ServiceCommand):
    help = "Lists the staff accounts: roles, second factor, how they sign in, last sign-in, state."

    def perform(self, **_: Any) -> Outcome:
        accounts = list(Staff.objects.filter(is_staff=True).order_by("username").prefetch_related("groups"))
        factors, methods = second_factors(accounts), sign_in_methods(accounts)
        rows: list[dict[str, Any]] = [
            {
                "username": one.username,
                "roles": role_names(one),
                "secondFactor": one.pk in factors,
                "signIn": methods[one.pk].value,
                "lastSignInAt": optional_rfc_3339(one.last_login),
                "dormantDays": dormant_days(one),
                "state": state_of(one).value,
            }
            for one in accounts
        ]
        headings = ("USERNAME", "ROLES", "SECOND FACTOR", "SIGN-IN", "LAST SIGN-IN", "UNUSED DAYS", "STATE")
        cells = (
            (
                row["username"],
                ", ".join(row["roles"]),
                "yes" if row["secondFactor"] else "no",
                row["signIn"],
                row["lastSignInAt"],
                f"{row['dormantDays']}{' !' if row['dormantDays'] >= DORMANT_DAYS else ''}",
                row["state"],
            )
            for row in rows
        )
        return Outcome({"staff": rows}, table(headings, cells))
