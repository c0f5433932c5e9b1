"""Invitations: the link by which the owner of an account chooses its password."""

import re
import time
from typing import Any

import pytest
from allauth.mfa.models import Authenticator
from django.contrib.auth.tokens import PasswordResetTokenGenerator
from django.test import Client
from pytest_django import Settings

from backoffice.staff import InviteForm
from core.models import AuditEntry
from staff import access
from staff.accounts import create_staff
from staff.login import invitations
from staff.models import Staff
from tests.staff.login.test_login import FACTORS, enrolled, inside, log_in, where_to
from tests.support.commands import outcome

pytestmark = pytest.mark.django_db

PAGE = "/admin/account/invitation/"
ADD = "/admin/staff/staff/add/"
NEW = "one of my own choice"
PASSWORDS = {"password1": NEW, "password2": NEW}


@pytest.fixture(autouse=True)
def required(settings: Settings) -> None:
    settings.STAFF_MFA_REQUIRED = True


def shown_link(page: Any) -> str:
    """The link on an administrator's page."""
    found = re.search(r'<code id="link"[^>]*>([^<]*)</code>', page.content.decode())
    assert found, "There is no link."
    return found[1]


def token_of(link: str) -> str:
    return link.partition("#")[2]


@pytest.fixture
def administrator() -> Client:
    return inside(enrolled("administrator"))


@pytest.fixture
def token(db: None) -> str:
    """The token of an invitation of `grace`."""
    staff = create_staff(username=None, email="grace@example.com", role="reviewer")
    return token_of(invitations.link(staff))


def accept(token: str, client: Client | None = None, **passwords: str) -> Any:
    return (client or Client()).post(PAGE, {"token": token} | (passwords or PASSWORDS))


def test_an_administrator_invites_by_email_address_and_types_no_password(administrator: Client) -> None:
    page = administrator.post(ADD, {"email": "grace@example.com", "role": "reviewer"})
    link = shown_link(page)
    assert link.startswith(f"http://testserver{PAGE}#")
    grace = Staff.objects.get(username="grace")
    assert (grace.email, grace.has_usable_password()) == ("grace@example.com", False)
    assert [group.name for group in grace.groups.all()] == ["reviewer"]
    assert "no-store" in page.headers["Cache-Control"]
    assert "grace" not in link
    assert token_of(link) not in administrator.get(f"/admin/staff/staff/{grace.pk}/change/").content.decode()


def test_whoever_opens_the_link_chooses_a_password_then_a_second_factor(token: str) -> None:
    client = Client()
    assert client.get(PAGE).status_code == 200
    asked = client.post(PAGE, {"token": token})
    assert asked.status_code == 200
    assert "Choose your password" in asked.content.decode()
    accepted = accept(token, client)
    assert accepted.headers["Location"] == "/admin/"
    assert where_to(client) == FACTORS
    grace = Staff.objects.get(username="grace")
    assert grace.check_password(NEW)
    assert not grace.password_is_one_time


def test_a_link_works_once(token: str) -> None:
    assert accept(token).status_code == 302
    again = accept(token, password1="another choice of mine", password2="another choice of mine")
    assert again.status_code == 400
    assert Staff.objects.get(username="grace").check_password(NEW)


def test_a_link_is_valid_for_72_hours(token: str, monkeypatch: pytest.MonkeyPatch) -> None:
    seconds = PasswordResetTokenGenerator._num_seconds
    for hours, is_valid in {71.9: True, 72.1: False}.items():
        later = int(hours * 3600)
        monkeypatch.setattr(
            PasswordResetTokenGenerator, "_num_seconds", lambda self, moment, later=later: seconds(self, moment) + later
        )
        assert (invitations.find_invited(token) is not None) == is_valid, hours


TOKENS = ("", "x", ".", "MQ.", "!!.x", "\0", "é", "A" * 5000, "MQ.x-y", "OTk5OTk5OTk5OTk5OTk5OTk5OTk5.a-b")


def test_another_token_is_refused(token: str) -> None:
    other = token[:-1] + ("0" if token[-1] != "0" else "1")
    assert [one for one in (*TOKENS, other) if invitations.find_invited(one)] == []
    for refused in ("\0", other):
        assert Client().post(PAGE, {"token": refused}).status_code == 400


def test_the_password_keeps_the_rules(token: str) -> None:
    assert accept(token, password1="short", password2="short").status_code == 200
    assert not Staff.objects.get(username="grace").has_usable_password()


def test_a_disabled_account_s_link_is_dead_for_good(token: str) -> None:
    grace = Staff.objects.get(username="grace")
    access.disable(staff=grace, reason="Does not join.")
    assert invitations.find_invited(token) is None
    access.enable(staff=grace, reason="Joins after all.")
    grace.refresh_from_db()
    assert grace.is_active
    assert invitations.find_invited(token) is None


def test_where_only_the_company_s_provider_signs_in_no_link_is_made_or_valid(
    administrator: Client, token: str, settings: Settings
) -> None:
    settings.STAFF_PASSWORD_LOGIN, settings.STAFF_OIDC_NAME = False, "Company"
    # Whose session goes on.
    Staff.objects.filter(pk=administrator.session["_auth_user_id"]).update(is_emergency=True)
    assert accept(token).status_code == 400
    page = administrator.post(ADD, {"email": "rita@example.com", "username": "", "role": "reviewer"}, follow=True)
    assert "rita is invited, and signs in with Company by the address rita@example.com." in page.content.decode()
    assert PAGE not in page.content.decode()
    Staff.objects.filter(username="grace").update(is_emergency=True)
    assert "password2" in Client().post(PAGE, {"token": token}).content.decode()


def test_a_new_link_ends_the_one_before_the_password_and_the_sessions(administrator: Client) -> None:
    staff = enrolled()
    client = inside(staff)
    first = token_of(invitations.link(access.invite_again(staff=staff, reason="Forgot it.")))
    page = administrator.post(f"/admin/staff/staff/{staff.pk}/invite_again/", {"reason": "Forgot it again."})
    assert where_to(client) == "/admin/login/"
    assert where_to(log_in(staff)[0]) == "/admin/login/"
    assert invitations.find_invited(first) is None
    assert Authenticator.objects.filter(user=staff, type="totp").exists()
    fresh = Client()
    assert accept(token_of(shown_link(page)), fresh).status_code == 302
    assert where_to(fresh) == "/admin/account/factors/confirm/", "the second factor that was there is still asked for"


def test_a_signed_in_colleague_does_not_use_it_up(token: str, administrator: Client) -> None:
    assert administrator.get(PAGE).headers["Location"] == "/admin/"
    assert accept(token, administrator).headers["Location"] == "/admin/"
    assert not Staff.objects.get(username="grace").has_usable_password()


def test_inviting_needs_a_fresh_second_factor(administrator: Client) -> None:
    session = administrator.session
    for record in session["account_authentication_methods"]:
        record["at"] = time.time() - 3600
    session.save()
    sent = administrator.post(ADD, {"email": "grace@example.com", "role": "reviewer"})
    assert sent.headers["Location"].startswith("/admin/account/factors/confirm/")
    assert not Staff.objects.filter(username="grace").exists()


def test_a_wrong_invitation_makes_no_account(administrator: Client) -> None:
    before = Staff.objects.count()
    given = {"email": "g@example.com", "role": "reviewer"}
    assert InviteForm(given).is_valid()
    for wrong in ({"email": ""}, {"email": "nobody"}, {"role": "owner"}, {"role": ""}):
        assert InviteForm(given | wrong).errors.keys() == wrong.keys(), wrong
    for wrong in ({"email": ""}, {"email": "sandbox@example.com"}, {"username": "two words"}):
        assert "Nothing was done." in administrator.post(ADD, given | wrong).content.decode(), wrong
    assert Staff.objects.count() == before


def test_a_username_that_is_taken_is_a_message(administrator: Client, token: str) -> None:
    again = administrator.post(ADD, {"email": "GRACE@example.com", "role": "reviewer"})
    assert "A staff member of this name exists." in again.content.decode()


def test_who_invited_and_who_accepted_is_in_the_audit_log(administrator: Client) -> None:
    inviter = Staff.objects.get(pk=administrator.session["_auth_user_id"]).username
    token = token_of(shown_link(administrator.post(ADD, {"email": "grace@example.com", "role": "reviewer"})))
    accept(token)
    lines = AuditEntry.objects.filter(object="grace").order_by("id").values_list("action", "actor")
    assert list(lines) == [
        ("staff.created", inviter),
        ("staffRole.created", inviter),
        ("staff.changed", "grace"),
        ("staff.passwordChanged", "grace"),
        ("signIn.succeeded", "grace"),
    ]
    assert token not in str(list(AuditEntry.objects.values_list("detail", flat=True)))


def test_nothing_of_the_link_is_logged(administrator: Client, capsys: pytest.CaptureFixture[str]) -> None:
    page = administrator.post(ADD, {"email": "grace@example.com", "role": "reviewer"})
    token = token_of(shown_link(page))
    accept(token)
    accept(token)
    captured = capsys.readouterr()
    assert token.partition(".")[2] not in captured.out + captured.err


def test_the_command_prints_a_link_that_works(settings: Settings) -> None:
    settings.CSRF_TRUSTED_ORIGINS = ["https://*.example.com", "https://partners.example.com:8443"]
    made = outcome("create_staff", "grace", "--email", "g@example.com", "--role", "viewer")
    address, _, token = made["invitationUrl"].partition("#")
    assert address == f"https://partners.example.com:8443{PAGE}"
    assert accept(token).status_code == 302
    assert not Staff.objects.get(username="grace").check_password(made["password"])


def test_the_command_s_link_is_at_the_first_allowed_host(settings: Settings) -> None:
    settings.CSRF_TRUSTED_ORIGINS, settings.ALLOWED_HOSTS = [], ["partners.example.com", "testserver"]
    made = outcome("create_staff", "grace", "--email", "g@example.com", "--role", "viewer")
    assert made["invitationUrl"].startswith(f"https://partners.example.com{PAGE}#")


def test_the_one_time_password_ends_the_command_s_link() -> None:
    made = outcome("create_staff", "grace", "--email", "g@example.com", "--role", "viewer")
    assert log_in(Staff.objects.get(username="grace"), made["password"])[1].status_code == 302
    assert Client().post(PAGE, {"token": token_of(made["invitationUrl"])}).status_code == 400
