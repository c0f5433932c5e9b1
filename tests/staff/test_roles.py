"""The groups of staff, kept as staff/roles.py has them."""

import pytest
from django.apps import AppConfig, apps
from django.contrib.auth.models import Group, Permission
from django.core.management.sql import emit_post_migrate_signal

import tests
from core.database import serving_role
from staff.roles import ROLES

pytestmark = pytest.mark.django_db(databases=[serving_role.SERVING, serving_role.OWNER])


@pytest.fixture(params=["as installed", "another app last"])
def installed(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """The apps as they are, and with one without models at the end."""
    if request.param != "as installed":
        monkeypatch.setattr(apps, "app_configs", {**apps.app_configs, "last": AppConfig("last", tests)})


def permissions(role: str) -> set[str]:
    found = Permission.objects.using(serving_role.OWNER).filter(group__name=role).select_related("content_type")
    return {f"{one.content_type.app_label}.{one.codename}" for one in found}


def test_a_migration_gives_each_role_its_permissions(installed: None) -> None:
    groups = Group.objects.using(serving_role.OWNER)
    groups.filter(name="viewer").delete()
    groups.get(name="reviewer").permissions.clear()
    groups.get(name="auditor").permissions.add(Permission.objects.using(serving_role.OWNER).get(codename="add_partner"))
    # As in a new database: made by the signal of a later app.
    Permission.objects.using(serving_role.OWNER).filter(codename="download_document").delete()
    emit_post_migrate_signal(verbosity=0, interactive=False, db=serving_role.OWNER)
    assert {role: permissions(role) for role in ROLES} == ROLES
