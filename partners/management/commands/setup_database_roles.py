from typing import Any

from partners.db import serving_role
from partners.management.base import Outcome, ServiceCommand


class Command(ServiceCommand):
    help = "Creates or updates the role of DATABASE_URL, as that of OWNER_DATABASE_URL, and its privileges."

    def perform(self, **_: Any) -> Outcome:
        role, tables = serving_role.set_up()
        line = f"Role {role} may serve: privileges on {tables} tables are set."
        if not tables:
            line = f"Role {role} may log in. There are no tables yet: `migrate` creates them and grants."
        return Outcome({"role": role, "tables": tables}, [line])
