"""Staff's roles: groups whose permissions each migration sets from this table. The settings import it: no models."""

from typing import Any

from django.apps import apps
from django.contrib.auth.management import create_permissions
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

# What each may do, in a sentence.
DUTIES: dict[str, Any] = {
    "viewer": _("Sees users, decisions, conversions and documents, without birth dates, addresses and notes."),
    "reviewer": _("Decides cases, asks partners, approves others' proposals, holds records; sees all of a user."),
    "auditor": _("Sees all of a user, the access log and the audit log; exports; holds records; decides nothing."),
    "partner-manager": _("Manages partners with their API keys and webhooks; sees no users."),
    "administrator": _("Invites staff, gives roles, resets second factors and disables accounts; sees no users."),
}

_USERS = {"users.view_user", "users.view_statuschange", "transactions.view_conversion", "transactions.view_document"}
_IDENTITY = _USERS | {
    "users.view_identity",
    "users.view_userevent",
    # A note may quote birth date and address, also one beside the code of a decision, and that of a withdrawn document.
    "users.view_casenote",
    # So may the reason of a proposal, and the partner's answer.
    "users.view_proposal",
    "users.view_requirement",
    "users.view_requirementresponse",
    "users.view_requirementclosure",
    # What compliance keeps on a person; document numbers, those who decide alone.
    "users.view_fileentry",
    # A tax slip has birth date and address.
    "transactions.download_document",
}
# The keys are the roles that create_staff takes, the values permissions as `app.codename`.
ROLES: dict[str, set[str]] = {
    "viewer": _USERS,
    "reviewer": _IDENTITY | {"users.claim_user", "users.decide_user", "users.keep_records"},
    "auditor": _IDENTITY
    | {
        "users.view_accessrecord",
        "users.keep_records",
        "users.export_user",
        "staff.view_staff",
        "auth.view_group",
        "partners.view_partner",
        "partners.view_apikey",
        "events.view_webhookendpoint",
        "events.view_webhookdelivery",
        "partners.view_sandboxrequest",
        "core.view_auditentry",
    },
    "partner-manager": {
        model.replace(".", f".{action}_")
        for action in ("view", "add", "change")
        for model in ("partners.partner", "partners.apikey", "events.webhookendpoint")
    }
    # A change of a delivery is a retry.
    | {"events.view_webhookdelivery", "events.change_webhookdelivery", "partners.view_sandboxrequest"},
    "administrator": {"staff.view_staff", "staff.add_staff", "staff.change_staff", "auth.view_group"},
}


def in_words(role: str) -> str:
    """The role's name for people; of what is none of them, such as `superuser`, the name itself."""
    return str(NAMES.get(role, role))


def sync_roles(using: str, **_options: Any) -> None:
    """Set the permissions of each role's group. Receives post_migrate."""
    # Django creates the permissions of an app when that app's signal is sent, for some of these after this one.
    for app in sorted({name.partition(".")[0] for names in ROLES.values() for name in names}):
        create_permissions(apps.get_app_config(app), verbosity=0, using=using)
    permissions = {
        f"{permission.content_type.app_label}.{permission.codename}": permission
        for permission in apps.get_model("auth", "Permission").objects.using(using).select_related("content_type")
    }
    for role, names in ROLES.items():
        group, _created = apps.get_model("auth", "Group").objects.using(using).get_or_create(name=role)
        group.permissions.set(permissions[name] for name in sorted(names))
