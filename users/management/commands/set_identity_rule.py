from core.database import serving_role
from core.management.arguments import Argument
from core.management.base import Outcome, ServiceCommand
from users.file.identity_rule import set_rule


class Command(ServiceCommand):
    help = (
        "Sets whether a user becomes active only with a record of how its identity was verified. Needs"
        " OWNER_DATABASE_URL; is recorded."
    )
    arguments = (Argument("state", choices=("on", "off"), help="on: with a record; off: without one too, as shipped"),)

    def perform(self, *, state: str) -> Outcome:
        set_rule(is_on=state == "on", using=serving_role.owner_alias(), context=self.actor({}))
        return Outcome({"identityRule": state}, f"The identity rule is {state}.")
