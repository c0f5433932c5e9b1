"""Staff accounts made by ops: `manage.py create_staff`."""

import pytest
from django.contrib.auth import authenticate
from django.contrib.auth.models import Group
from pytest_django import Settings

from core.management.base import operator
from core.models import AuditEntry
from staff.models import Staff
from staff.roles import ROLES
from tests.support.commands import outcome, printed, refusal, run

pytestmark = pytest.mark.django_db


def create(username: str = "grace", *, email: str = "grace@example.com", role: str = "reviewer") -> tuple[str, ...]:
    return ("create_staff", username, "--email", email, "--role", role)


def test_the_password_that_is_printed_is_the_accounts() -> None:
    made = outcome(*create())
    assert made.keys() == {"username", "password", "role", "invitationUrl"}
    assert (made["username"], made["role"]) == ("grace", "reviewer")
    assert authenticate(username="grace", password=made["password"]) == Staff.objects.get(username="grace")


def test_the_account_may_what_its_role_may() -> None:
    for role, permissions in ROLES.items():
        outcome(*create(role, email=f"{role}@example.com", role=role))
        staff = Staff.objects.get(username=role)
        assert (staff.is_staff, staff.is_superuser, staff.is_active) == (True, False, True)
        assert [group.name for group in staff.groups.all()] == [role]
        assert staff.get_all_permissions() == permissions


def test_a_name_and_an_address_belong_to_one_account_in_any_letter_case() -> None:
    assert len(outcome(*create())["password"]) >= 20
    assert "username: " in refusal(*create(email="g@example.com"))
    assert "A staff member of this name exists." in refusal(*create("Grace", email="g@example.com"))
    assert "An account with this email address exists." in refusal(*create("hopper", email="GRACE@example.com"))
    assert Staff.objects.count() == 1


def test_a_name_or_an_address_that_is_none_makes_no_account() -> None:
    for username in ("sandbox", "Sandbox"):
        assert refusal(*create(username)) == "username: This name is reserved for simulated decisions."
    for username in ("", "two words", "x" * 151, "\udcff"):
        assert refusal(*create(username)).startswith("username"), username
    for email in ("", "grace", "grace@", "two words@example.com"):
        assert refusal(*create(email=email)).startswith("email: "), email
    assert not Staff.objects.exists()


def test_an_emergency_account_is_a_superuser_with_a_password() -> None:
    made = outcome("create_staff", "glass", "--email", "glass@example.com", "--emergency")
    staff = Staff.objects.get(username="glass")
    assert (made["role"], staff.is_superuser, staff.is_emergency) == ("superuser", True, True)
    assert authenticate(username="glass", password=made["password"]) == staff


@pytest.mark.parametrize("access", [(), ("--role", "viewer", "--emergency")])
def test_an_account_has_a_role_or_is_for_emergencies(access: tuple[str, ...]) -> None:
    assert run("create_staff", "glass", "--email", "glass@example.com", *access).status == 2
    assert not Staff.objects.exists()


def test_where_only_the_provider_signs_in_no_password_is_made(settings: Settings) -> None:
    settings.STAFF_PASSWORD_LOGIN, settings.STAFF_OIDC_NAME = False, "Company"
    made = outcome(*create())
    assert (made["password"], made["invitationUrl"]) == (None, None)
    assert not Staff.objects.get(username="grace").has_usable_password()
    assert "Company" in printed(*create("rita", email="rita@example.com"))


def test_a_role_that_is_none_is_a_wrong_use() -> None:
    assert run(*create(role="owner")).status == 2
    assert not Staff.objects.exists()


def test_an_account_without_its_role_is_not_left_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("staff.accounts.Group.objects", Group.objects.none())  # as before the first migration
    assert "run `migrate`" in refusal(*create())
    assert not Staff.objects.exists()


def test_djangos_own_commands_for_accounts_name_the_operator(monkeypatch: pytest.MonkeyPatch) -> None:
    assert run("createsuperuser", "--noinput", "--username", "root", "--email", "root@example.com").status == 0
    monkeypatch.setattr(
        "django.contrib.auth.management.commands.changepassword.getpass.getpass", lambda prompt: "a new one of staff"
    )
    assert run("changepassword", "root").status == 0
    lines = AuditEntry.objects.filter(object="root").order_by("id").values_list("action", "actor_kind", "actor")
    assert list(lines) == [("staff.created", "operator", operator()), ("staff.passwordChanged", "operator", operator())]
