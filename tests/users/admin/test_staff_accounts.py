"""The back office of staff and their roles."""

import re

from django.contrib.auth.models import Group

from tests import factories
from tests.support.staff import client_as, client_of, filled_in, log_lines
from users.models import Staff

USERS = "/admin/users/user/"


def staff_fields(**fields: object) -> dict[str, object]:
    return {
        "username": "grace",
        "usable_password": "true",
        "password1": "correct horse battery",
        "password2": "correct horse battery",
        "email": "grace@example.com",
        "is_staff": "on",
    } | fields


def group_of(role: str) -> int:
    return factories.StaffFactory.create(role=role).groups.get().pk


def test_an_administrator_adds_staff_in_a_role(db: None) -> None:
    client = client_as("administrator")
    client.post("/admin/users/staff/add/", staff_fields(groups=[group_of("reviewer")], is_superuser="on"))
    added = Staff.objects.get(username="grace")
    assert (added.is_staff, added.is_superuser) == (True, False)
    assert added.has_perm("users.decide_user")
    assert added.check_password("correct horse battery")


def test_passwords_have_fields_that_can_be_seen_and_a_link_to_them(db: None) -> None:
    client, staff = client_as("administrator"), factories.StaffFactory.create(role="viewer")
    for path in ("add/", f"{staff.pk}/password/"):
        fields = re.findall(r'<input type="password"[^>]*>', client.get(f"/admin/users/staff/{path}").content.decode())
        assert len(fields) == 2
        assert all('class="border' in field for field in fields)
    assert 'href="../password/"' in client.get(f"/admin/users/staff/{staff.pk}/change/").content.decode()


def test_a_new_account_may_sign_in_by_default(db: None) -> None:
    form = client_as("administrator").get("/admin/users/staff/add/").context["adminform"].form
    assert form["is_staff"].value() is True


def test_a_name_stays(db: None) -> None:
    staff = factories.StaffFactory.create(role="viewer")
    fields = {"username": "another", "first_name": "Grace", "is_active": "on", "is_staff": "on"}
    response = client_as("superuser").post(f"/admin/users/staff/{staff.pk}/change/", fields)
    assert response.status_code == 302
    changed = Staff.objects.get(pk=staff.pk)
    assert (changed.username, changed.first_name) == (staff.username, "Grace")


def test_an_administrator_cannot_raise_themselves(db: None) -> None:
    staff = factories.StaffFactory.create(role="administrator")
    fields = {"username": staff.username, "is_active": "on", "is_staff": "on", "is_superuser": "on"}
    response = client_of(staff).post(
        f"/admin/users/staff/{staff.pk}/change/", fields | {"groups": [group_of("reviewer")]}
    )
    assert response.status_code == 302
    staff = Staff.objects.get(pk=staff.pk)
    assert not staff.is_superuser
    assert [group.name for group in staff.groups.all()] == ["administrator"]


def test_an_administrator_cannot_touch_a_superuser(db: None) -> None:
    root = Staff.objects.create_superuser("root", password="a password of root")
    client = client_as("administrator")
    assert client.post(f"/admin/users/staff/{root.pk}/change/", {"username": "mine"}).status_code == 403
    passwords = {"usable_password": "true", "password1": "my own password now", "password2": "my own password now"}
    assert client.post(f"/admin/users/staff/{root.pk}/password/", passwords).status_code == 403
    root.refresh_from_db()
    assert root.check_password("a password of root")


def test_staff_made_inactive_are_out_at_once(db: None) -> None:
    staff = factories.StaffFactory.create(role="reviewer")
    client = client_of(staff)
    assert client.get(USERS).status_code == 200
    administrator, page = client_as("administrator"), f"/admin/users/staff/{staff.pk}/change/"
    inactive = filled_in(administrator.get(page))
    inactive.pop("is_active")
    administrator.post(page, inactive)
    assert client.get(USERS).status_code == 302


def test_an_older_page_does_not_undo_what_was_changed_meanwhile(db: None) -> None:
    staff, administrator = factories.StaffFactory.create(role="reviewer"), client_as("administrator")
    page = f"/admin/users/staff/{staff.pk}/change/"
    older = filled_in(administrator.get(page))
    Staff.objects.filter(pk=staff.pk).update(is_active=False)
    staff.groups.set([Group.objects.get(name="viewer")])
    administrator.post(page, older | {"first_name": "Eve"})
    staff.refresh_from_db()
    assert (staff.first_name, staff.is_active) == ("Eve", False)
    assert [group.name for group in staff.groups.all()] == ["viewer"]
    administrator.post(page, filled_in(administrator.get(page)) | {"groups": [Group.objects.get(name="auditor").pk]})
    assert [group.name for group in staff.groups.all()] == ["auditor"]


def test_a_role_that_is_given_after_a_mistake_elsewhere_is_given(db: None) -> None:
    staff, administrator = factories.StaffFactory.create(), client_as("administrator")
    page, role = f"/admin/users/staff/{staff.pk}/change/", Group.objects.get(name="auditor")
    staff.groups.clear()
    mistaken = administrator.post(page, filled_in(administrator.get(page)) | {"groups": [role.pk], "email": "no"})
    assert mistaken.status_code == 200
    administrator.post(page, filled_in(mistaken) | {"email": "ada@example.com"})
    assert [group.name for group in staff.groups.all()] == ["auditor"]


def test_a_new_password_is_in_the_log_without_its_text(db: None) -> None:
    staff = factories.StaffFactory.create(role="viewer")
    passwords = {"usable_password": "true", "password1": "an entirely new one", "password2": "an entirely new one"}
    client_as("administrator").post(f"/admin/users/staff/{staff.pk}/password/", passwords)
    staff.refresh_from_db()
    assert staff.check_password("an entirely new one")
    assert log_lines() == ["Changed password."]


def test_roles_and_the_log_are_only_looked_at(db: None) -> None:
    client = client_as("superuser")
    group = group_of("reviewer")
    assert client.post(f"/admin/auth/group/{group}/change/", {"name": "mine"}).status_code == 403
    assert "users.decide_user" in client.get(f"/admin/auth/group/{group}/change/").content.decode()
    for path in ("/admin/auth/group/add/", "/admin/partners/auditentry/add/"):
        assert client.get(path).status_code == 403
