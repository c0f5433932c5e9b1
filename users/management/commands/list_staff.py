from typing import Any

from partners.management.base import Outcome, ServiceCommand, optional_rfc_3339, table
from users.models import Staff
from users.staff.staff import role_names, second_factors, state_of


class Command(ServiceCommand):
    help = "Lists the staff accounts: roles, second factor, last sign-in, state."

    def perform(self, **_: Any) -> Outcome:
        accounts = list(Staff.objects.filter(is_staff=True).order_by("username").prefetch_related("groups"))
        factors = second_factors(accounts)
        rows: list[dict[str, Any]] = [
            {
                "username": one.username,
                "roles": role_names(one),
                "secondFactor": one.pk in factors,
                "lastSignInAt": optional_rfc_3339(one.last_login),
                "state": state_of(one).value,
            }
            for one in accounts
        ]
        headings = ("USERNAME", "ROLES", "SECOND FACTOR", "LAST SIGN-IN", "STATE")
        cells = (
            (
                row["username"],
                ", ".join(row["roles"]),
                "yes" if row["secondFactor"] else "no",
                row["lastSignInAt"],
                row["state"],
            )
            for row in rows
        )
        return Outcome({"staff": rows}, table(headings, cells))
