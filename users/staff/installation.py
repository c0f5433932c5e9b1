"""What `doctor` looks at of staff: second factors, and who may decide."""

from partners.monitoring.found import Found, Result, named
from partners.monitoring.installation import register
from users.decisions.approval_rules import LEAST_DECIDERS, deciders, rules_in_force
from users.models import Condition, Staff
from users.staff.staff import StaffState, second_factors, state_of


@register("second factors")
def _second_factors() -> Found:
    active = [one for one in Staff.objects.order_by("username") if state_of(one) == StaffState.ACTIVE]
    factors = second_factors(active)
    without = [one.get_username() for one in active if one.pk not in factors]
    if without:
        advice = "They enrol one at their next sign-in; disable accounts that nobody uses (`disable_staff`)."
        return Found(Result.WARNING, f"Accounts without a second factor: {named(without)}.", advice)
    return Found(Result.OK, f"Active staff accounts: {len(active)}, each with a second factor.")


@register("deciders")
def _deciders() -> Found:
    names = [one.get_username() for one in deciders()]
    needed = LEAST_DECIDERS if _rules() else 1
    text = f"Accounts that may decide: {named(names) or 'none'}."
    if len(names) < needed:
        advice = "Create another with the role reviewer: `create_staff`."
        return Found(Result.FAILURE, f"{text} {needed} are needed.", advice)
    return Found(Result.OK, text)


@register("approval rules")
def _approval_rules() -> Found:
    if rules := _rules():
        return Found(Result.OK, f"Two people decide: {'; '.join(rules)}.")
    advice = "If two people should, see `set_approval_rule`."
    return Found(Result.WARNING, "One person decides every move.", advice)


def _rules() -> list[str]:
    return [
        f"{rule.from_status} → {rule.to_status}: {rule.condition}"
        for rule in rules_in_force()
        if rule.condition != Condition.NEVER
    ]
