"""The roles of staff by name, without models: the settings name roles too (STAFF_OIDC_ROLES)."""

from typing import Any

from django.utils.translation import gettext_lazy as _

# The roles' names for people.
NAMES: dict[str, Any] = {
    "viewer": _("Viewer"),
    "reviewer": _("Reviewer"),
    "auditor": _("Auditor"),
    "partner-manager": _("Partner manager"),
    "administrator": _("Administrator"),
    "superuser": _("Superuser"),
}

# What each may do, in a sentence. The permissions are in staff/roles.py.
DUTIES: dict[str, Any] = {
    "viewer": _("Sees users, decisions, conversions and documents, without birth dates, addresses and notes."),
    "reviewer": _("Decides cases, asks partners, approves others' proposals, holds records; sees all of a user."),
    "auditor": _("Sees all of a user, the access log and the audit log; exports; holds records; decides nothing."),
    "partner-manager": _("Manages partners with their API keys and webhooks; sees no users."),
    "administrator": _("Invites staff, gives roles, resets second factors and disables accounts; sees no users."),
}


def in_words(role: str) -> str:
    """The role's name for people; of what is none of them, such as `superuser`, the name itself."""
    return str(NAMES.get(role, role))
