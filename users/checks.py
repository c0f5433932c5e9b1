"""What `check --deploy --database default` finds about who may decide."""

from django.core.checks import Error

from partners.checks import Found, installation_check
from partners.monitoring.health import named
from users.decisions.approval_rules import LEAST_DECIDERS, deciders, rules_in_force
from users.models import Condition


@installation_check
def check_deciders() -> Found:
    """Two who may decide where a rule needs them, else one."""
    names = [one.get_username() for one in deciders()]
    needed = LEAST_DECIDERS if any(rule.condition != Condition.NEVER for rule in rules_in_force()) else 1
    if len(names) < needed:
        text = f"Accounts that may decide and have signed in: {named(names) or 'none'}; {needed} needed."
        yield Error(text, hint="Create another with the role reviewer: `create_staff`.", id="psi.E031")
