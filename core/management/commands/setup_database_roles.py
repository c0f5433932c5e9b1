from core import audit
from core.database import serving_role
from core.management.base import Outcome, ServiceCommand
from core.models import AuditEntry


class Command(ServiceCommand):
    help = "Creates or updates the role of DATABASE_URL, as that of OWNER_DATABASE_URL, and its privileges."

    def perform(self) -> Outcome:
        role, tables = serving_role.set_up()
        if tables:
            audit.record(AuditEntry.COMMAND_RUN, object=self.name, context=self.actor({}), using=serving_role.OWNER)
        line = f"Role {role} may serve: privileges on {tables} tables are set."
        if not tables:
            line = f"Role {role} may log in. There are no tables yet: `migrate` creates them and grants."
        return Outcome({"role": role, "tables": tables}, line)
