import json

from django.conf import settings
from django.db import transaction

from core.database import serving_role, statements
from core.database.base import SET_CONTEXT
from core.database.pipeline import Query
from core.management.arguments import Argument
from core.management.base import Outcome, ServiceCommand
from users.models import IdentityRule


class Command(ServiceCommand):
    help = (
        "Sets whether a user becomes active only with a record of how its identity was verified. Needs"
        " OWNER_DATABASE_URL; is recorded."
    )
    arguments = (Argument("state", choices=("on", "off"), help="on: with a record; off: without one too, as shipped"),)

    def perform(self, *, state: str) -> Outcome:
        using = serving_role.owner_alias()
        with transaction.atomic(using=using):
            statements.fetch(Query(f"SELECT {SET_CONTEXT}", (json.dumps(self.actor({})),)), using)
            rule = IdentityRule(is_on=state == "on", time_zone=settings.COMPLIANCE_TIME_ZONE)
            rule.save(using=using)
        return Outcome({"identityRule": state}, f"The identity rule is {state}.")
