"""`manage.py setup_database_roles`."""

from typing import Any

from partners.db import serving_role
from partners.management.base import Outcome, ServiceCommand


class Command(ServiceCommand):
    """Creates or updates the serving role of the database, and what it may do."""

    help = "Creates or updates the role of DATABASE_URL, as that of OWNER_DATABASE_URL, and grants it what it needs."

    def perform(self, **_: Any) -> Outcome:
        """Sets it up. Raises ImproperlyConfigured, see partners/db/serving_role.py."""
        role, tables = serving_role.set_up()
        lines = [f"Role {role} may serve: privileges on {tables} tables are set."]
        if not tables:
            lines = [f"Role {role} may log in. There are no tables yet: `migrate` makes them and grants."]
        return Outcome({"role": role, "tables": tables}, lines)
