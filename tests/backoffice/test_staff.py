"""The back office of staff and their roles."""

from django.contrib.auth.models import Group

from staff.models import Staff
from staff.roles import DUTIES, NAMES, ROLES
from tests import factories
from tests.support.staff import client_as, client_of, filled_in

USERS = "/admin/users/user/"


def group_of(role: str) -> int:
    return factories.StaffFactory.create(role=role).groups.get().pk


def test_a_name_stays(db: None) -> None:
    staff = factories.StaffFactory.create(role="viewer")
    fields = {"username": "another", "first_name": "Grace", "email": staff.email}
    response = client_as("superuser").post(f"/admin/staff/staff/{staff.pk}/change/", fields)
    assert response.status_code == 302
    changed = Staff.objects.get(pk=staff.pk)
    assert (changed.username, changed.first_name) == (staff.username, "Grace")


def test_an_administrator_cannot_raise_themselves(db: None) -> None:
    staff = factories.StaffFactory.create(role="administrator")
    fields = {"email": staff.email, "is_superuser": "on"}
    response = client_of(staff).post(
        f"/admin/staff/staff/{staff.pk}/change/", fields | {"groups": [group_of("reviewer")]}
    )
    assert response.status_code == 302
    staff = Staff.objects.get(pk=staff.pk)
    assert not staff.is_superuser
    assert [group.name for group in staff.groups.all()] == ["administrator"]


def test_an_administrator_cannot_touch_a_superuser(db: None) -> None:
    root = Staff.objects.create_superuser("root", password="a password of root")
    client = client_as("administrator")
    assert client.post(f"/admin/staff/staff/{root.pk}/change/", {"username": "mine"}).status_code == 403
    root.refresh_from_db()
    assert root.check_password("a password of root")


def test_an_older_page_does_not_undo_what_was_changed_meanwhile(db: None) -> None:
    staff, administrator = factories.StaffFactory.create(role="reviewer"), client_as("administrator")
    page, auditor = f"/admin/staff/staff/{staff.pk}/change/", Group.objects.get(name="auditor")
    older = filled_in(administrator.get(page))
    Staff.objects.filter(pk=staff.pk).update(last_name="Hopper")
    staff.groups.set([Group.objects.get(name="viewer")])
    administrator.post(page, older | {"first_name": "Eve"})
    staff.refresh_from_db()
    assert (staff.first_name, staff.last_name) == ("Eve", "Hopper")
    assert [group.name for group in staff.groups.all()] == ["viewer"]
    # Nor by a change of other roles.
    administrator.post(page, older | {"groups": [*older["groups"], group_of("partner-manager")]})
    assert {group.name for group in staff.groups.all()} == {"viewer", "partner-manager"}
    # A role is given, also after a mistake elsewhere on the page.
    mistaken = administrator.post(page, filled_in(administrator.get(page)) | {"groups": [auditor.pk], "email": "no"})
    assert mistaken.status_code == 200
    administrator.post(page, filled_in(mistaken) | {"email": "ada@example.com"})
    assert [group.name for group in staff.groups.all()] == ["auditor"]


def test_no_address_takes_a_password_that_an_administrator_types(db: None) -> None:
    staff = factories.StaffFactory.create(role="viewer")
    passwords = {"usable_password": "true", "password1": "an entirely new one", "password2": "an entirely new one"}
    client_as("superuser").post(f"/admin/staff/staff/{staff.pk}/password/", passwords, follow=True)
    staff.refresh_from_db()
    assert not staff.check_password("an entirely new one")


def test_each_role_has_a_name_and_its_duties() -> None:
    assert set(ROLES) == set(DUTIES) == set(NAMES) - {"superuser"}
