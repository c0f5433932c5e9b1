"""The roles of staff: groups with the permissions named here, kept so after every migration.

A floor above adds what it has to show through `extend`.
"""

from collections.abc import Iterable
from typing import Any

from django.apps import apps
from django.contrib.auth.management import create_permissions
from django.contrib.auth.models import Group, Permission

# By the names that create_staff takes. Permissions as `app.codename`.
ROLES: dict[str, set[str]] = {
    "viewer": {"users.view_user", "users.view_statuschange"},
    "reviewer": {
        "users.view_user",
        "users.view_identity",
        "users.view_statuschange",
        "users.view_userevent",
        "users.view_dashboard",
        "users.claim_user",
        "users.decide_user",
    },
    "auditor": {
        "users.view_user",
        "users.view_identity",
        "users.view_statuschange",
        "users.view_userevent",
        "users.view_accessrecord",
        "users.view_dashboard",
        "users.export_user",
        "users.view_staff",
        "auth.view_group",
        "partners.view_partner",
        "partners.view_apikey",
        "admin.view_logentry",
    },
    "partner-manager": {
        "partners.view_partner",
        "partners.add_partner",
        "partners.change_partner",
        "partners.view_apikey",
        "partners.add_apikey",
        "partners.change_apikey",
    },
    "administrator": {"users.view_staff", "users.add_staff", "users.change_staff", "auth.view_group"},
}


def extend(permissions: Iterable[str], *, roles: Iterable[str]) -> None:
    """Gives roles permissions of a floor above. Called in that app's ready()."""
    for role in roles:
        ROLES[role] |= set(permissions)


def sync_roles(using: str, **_: Any) -> None:
    """After a migration: each role is a group with just these permissions."""
    # Django makes an app's permissions when that app's own signal is sent, which for some of these is later.
    for app in sorted({name.partition(".")[0] for names in ROLES.values() for name in names}):
        create_permissions(apps.get_app_config(app), verbosity=0, using=using)
    present = {
        f"{p.content_type.app_label}.{p.codename}": p
        for p in Permission.objects.using(using).select_related("content_type")
    }
    for role, names in ROLES.items():
        group, _created = Group.objects.using(using).get_or_create(name=role)
        group.permissions.set(present[name] for name in sorted(names))
