"""Deciding about users in the back office: contract, section 8."""

from collections.abc import Callable
from uuid import uuid4

import pytest
from django.test import Client

from tests import factories
from tests.client import PartnerClient, Response
from tests.staff import ROLES, client_as, client_of, hidden_version, log_lines
from users.models import StatusChange, User, UserEvent

USERS = "/admin/users/user/"
EVENTS = "/admin/users/userevent/"


@pytest.fixture
def user(create_user: Callable[..., Response]) -> User:
    return User.objects.get(pk=create_user().json()["userId"])


def page_of(user: User) -> str:
    return f"{USERS}{user.pk}/change/"


def status_url(user: User) -> str:
    return f"{USERS}{user.pk}/status/"


def decision(client: Client, user: User, **fields: str) -> dict[str, str]:
    """The form as a browser would send it."""
    page = client.get(page_of(user)).content.decode()
    version = hidden_version(page, "/status/") if "/status/" in page else ""
    return {"version": version, "to_status": "active", "reason": "Papers are in order.", "reason_code": ""} | fields


def test_a_reviewer_moves_a_status_and_all_of_it_is_kept(user: User) -> None:
    staff = factories.make_staff("reviewer")
    client = client_of(staff)
    sent = client.post(status_url(user), decision(client, user, reason_code="KYC-1"), follow=True)
    assert "The status is Active now." in sent.content.decode()
    change = StatusChange.objects.get(user=user)
    assert (change.from_status, change.to_status) == ("pendingCompliance", "active")
    assert (change.by, change.reason, change.reason_code) == (staff, "Papers are in order.", "KYC-1")
    user.refresh_from_db()
    assert user.status == "active"
    assert log_lines() == ["Status changed: pendingCompliance → active."]


def test_the_history_names_the_person_and_the_request(user: User) -> None:
    staff = factories.make_staff("reviewer")
    client = client_of(staff)
    request_id = client.post(status_url(user), decision(client, user)).headers["X-Request-Id"]
    page = client.get(page_of(user)).content.decode()
    assert f"request {request_id}" in page
    assert staff.username in page
    assert "Papers are in order." in page


def test_the_history_names_the_partner_and_the_key(create_user: Callable[..., Response], api: PartnerClient) -> None:
    answer = create_user()
    user = User.objects.get(pk=answer.json()["userId"])
    client = client_as("auditor")
    event = UserEvent.objects.get(pgh_obj=user)
    for path in (page_of(user), EVENTS, f"{EVENTS}{event.pk}/change/"):
        page = client.get(path).content.decode()
        assert f"{user.partner.slug} {api.api_key[:16]}" in page
        assert f"request {answer.header('X-Request-Id')}" in page


def test_the_history_names_what_changed(user: User) -> None:
    User.objects.filter(pk=user.pk).update(city="Ottawa", postal_code="K1A 0B1")
    assert "<td>city, postal_code</td>" in client_as("auditor").get(page_of(user)).content.decode()


def test_only_allowed_moves_are_offered(user: User) -> None:
    client = client_as("reviewer")
    client.post(status_url(user), decision(client, user))
    page = client.get(page_of(user)).content.decode()
    assert [s for s in ("active", "rejected", "suspended", "closed") if f'<option value="{s}"' in page] == [
        "suspended",
        "closed",
    ]


def test_a_final_status_offers_no_form(user: User) -> None:
    client = client_as("reviewer")
    for status in ("active", "closed"):
        client.post(status_url(user), decision(client, user, to_status=status))
    assert "/status/" not in client.get(page_of(user)).content.decode()
    again = client.post(status_url(user), decision(client, user, to_status="active"))
    assert again.status_code == 200
    assert StatusChange.objects.filter(user=user).count() == 2


@pytest.mark.parametrize("role", [role for role in ROLES if role not in {"reviewer", "superuser"}])
def test_without_the_permission_there_is_no_form_and_no_move(role: str, user: User) -> None:
    client = client_as(role)
    fields = decision(client_as("reviewer"), user)
    assert "/status/" not in client.get(page_of(user)).content.decode()
    assert client.post(status_url(user), fields).status_code == 403
    user.refresh_from_db()
    assert user.status == "pendingCompliance"


@pytest.mark.parametrize("role", ["anonymous", "outsider"])
def test_who_is_not_staff_decides_nothing(role: str, user: User) -> None:
    answer = client_as(role).post(status_url(user), decision(client_as("reviewer"), user))
    assert (answer.status_code, answer.headers["Location"].startswith("/admin/login/")) == (302, True)
    user.refresh_from_db()
    assert user.status == "pendingCompliance"


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"to_status": "closed"}, "cannot become closed"),
        ({"to_status": "pendingCompliance"}, "already"),
        ({"to_status": "nonsense"}, "There is no such status"),
        ({"to_status": ""}, "This field is required."),
        ({"reason": ""}, "This field is required."),
        ({"reason": "   "}, "This field is required."),
        ({"reason": "a\0b"}, "Null characters are not allowed."),
        ({"reason": "a" * 2001}, "at most 2000 characters"),
        ({"reason_code": "a" * 51}, "at most 50 characters"),
    ],
)
def test_what_the_rules_refuse_is_said_and_nothing_happens(fields: dict[str, str], said: str, user: User) -> None:
    client = client_as("reviewer")
    sent = decision(client, user, **fields)
    page = client.post(status_url(user), sent).content.decode()
    assert said in page
    assert "Nothing was done." in page
    assert not StatusChange.objects.exists()
    assert not log_lines()


def test_what_was_typed_is_kept_when_refused(user: User) -> None:
    client = client_as("reviewer")
    page = client.post(status_url(user), decision(client, user, to_status="", reason="A long story."))
    assert "A long story." in page.content.decode()


def test_a_form_that_others_were_faster_than_is_refused_and_then_accepted(user: User) -> None:
    client = client_as("reviewer")
    stale = decision(client, user, to_status="rejected")
    User.objects.filter(pk=user.pk).update(email="new@example.com")
    page = client.post(status_url(user), stale).content.decode()
    assert "changed since the page was loaded" in page
    assert "new@example.com" in page
    assert not StatusChange.objects.exists()
    client.post(status_url(user), stale | {"version": hidden_version(page, "/status/")})
    assert StatusChange.objects.get(user=user).to_status == "rejected"


def test_a_form_without_its_version_is_refused(user: User) -> None:
    client = client_as("reviewer")
    client.post(status_url(user), decision(client, user, version=""))
    assert not StatusChange.objects.exists()


def test_a_form_from_elsewhere_is_refused(user: User) -> None:
    client = client_of(factories.make_staff("reviewer"), enforce_csrf_checks=True)
    assert client.post(status_url(user), decision(client, user)).status_code == 403
    assert not StatusChange.objects.exists()


def test_getting_the_actions_address_changes_nothing(user: User) -> None:
    client = client_as("reviewer")
    answer = client.get(status_url(user), decision(client, user))
    assert (answer.status_code, answer.headers["Location"]) == (302, page_of(user))
    assert not StatusChange.objects.exists()


def test_deciding_about_nobody_is_not_found(db: None) -> None:
    for pk in (uuid4(), "nonsense", "%00"):
        assert client_as("reviewer").post(f"{USERS}{pk}/status/").status_code == 404
