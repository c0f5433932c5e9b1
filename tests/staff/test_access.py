"""What administrators do with the access of others, on the pages and by command."""

from typing import Any

import pytest
from allauth.mfa.models import Authenticator
from allauth.socialaccount.models import SocialAccount
from django.contrib import admin
from django.contrib.auth.models import Group
from django.core.exceptions import ValidationError
from django.db import IntegrityError, ProgrammingError, connection, transaction
from django.forms import modelform_factory
from django.http import QueryDict
from django.test import Client, RequestFactory
from django.test.utils import CaptureQueriesContext
from pytest_django import Settings

from backoffice.staff import ReasonForm, StaffForm
from core.models import AuditEntry
from core.refusals import RefusedError
from staff import access as staff_access
from staff.access import ADMINISTRATOR
from staff.models import Staff
from tests import factories
from tests.staff.login.test_login import FACTORS, enrolled, inside, log_in, person, where_to
from tests.support.commands import outcome, printed, refusal, run
from tests.support.database import undone
from tests.support.staff import client_as
from users.models import AccessRecord, Claim

pytestmark = pytest.mark.django_db

REASON = "Has left; told by Grace."


@pytest.fixture(autouse=True)
def required(settings: Settings) -> None:
    settings.STAFF_MFA_REQUIRED = True


@pytest.fixture
def administrator() -> Client:
    return inside(enrolled(ADMINISTRATOR))


def name_of(client: Client) -> str:
    return Staff.objects.get(pk=client.session["_auth_user_id"]).username


def act(client: Client, name: str, staff: Staff, reason: str = REASON) -> Any:
    return client.post(f"/admin/staff/staff/{staff.pk}/{name}/", {"reason": reason})


def line(action: str, staff: Staff) -> AuditEntry:
    return AuditEntry.objects.get(action=action, object=staff.username)


def make_older(client: Client) -> None:
    """Make the session's verification of a second factor an hour older."""
    session = client.session
    for record in session["account_authentication_methods"]:
        record["at"] -= 3600
    session.save()


# Each act


def test_an_administrator_resets_a_second_factor(administrator: Client) -> None:
    staff = enrolled()
    client = inside(staff)
    page = administrator.get(act(administrator, "reset_second_factor", staff).headers["Location"])
    assert "The second factor is reset" in page.content.decode()
    assert not Authenticator.objects.filter(user=staff).exists()
    assert where_to(client) == "/admin/login/"
    assert where_to(log_in(staff)[0]) == FACTORS
    entry = line("staff.factorReset", staff)
    assert (entry.actor, entry.actor_kind) == (name_of(administrator), "staff")
    assert (entry.detail["reason"], entry.detail["sessions"]) == (REASON, 1)


def test_an_administrator_ends_all_sessions_of_somebody(administrator: Client) -> None:
    staff = enrolled()
    client, other = inside(staff), inside(enrolled())
    act(administrator, "end_sessions", staff)
    assert where_to(client) == "/admin/login/"
    assert where_to(other) == ""
    assert line("staff.sessionsEnded", staff).detail["sessions"] == 1
    assert Authenticator.objects.filter(user=staff).exists()


def test_a_disabled_account_is_signed_out_and_its_claims_return_to_the_queue_until_it_is_enabled(
    administrator: Client,
) -> None:
    staff, other = enrolled("reviewer"), factories.StaffFactory.create()
    client, claim, stays = (
        inside(staff),
        factories.ClaimFactory.create(staff=staff),
        factories.ClaimFactory.create(staff=other),
    )
    act(administrator, "disable", staff)
    assert where_to(client, "/admin/users/user/queue/") == "/admin/login/"
    assert where_to(log_in(staff)[0]) == "/admin/login/"
    assert list(Claim.objects.all()) == [stays]
    released = AccessRecord.objects.get(user=claim.user, kind="released")
    assert (released.staff.username, released.detail) == (name_of(administrator), f"Account {staff.username} disabled.")
    entry = line("staff.disabled", staff)
    assert (entry.actor, entry.detail["reason"], entry.detail["claims"]) == (name_of(administrator), REASON, 1)
    # Enabled again, it has its password and second factor.
    act(administrator, "enable", staff)
    assert where_to(inside(staff)) == ""
    assert line("staff.enabled", staff).actor == name_of(administrator)


ACTS = ("invite_again", "reset_second_factor", "end_sessions", "disable")


def test_every_act_needs_a_reason_and_a_fresh_second_factor(administrator: Client) -> None:
    staff = enrolled()
    client = inside(staff)
    assert [reason for reason in ("", "  ", "x" * 501) if ReasonForm({"reason": reason}).is_valid()] == []
    assert "Nothing was done." in act(administrator, "disable", staff, " ").content.decode()
    for name in ACTS:
        with pytest.raises(ValidationError), undone():
            getattr(staff_access, name)(staff=staff, reason=" ")
    make_older(administrator)
    for name in ACTS:
        assert act(administrator, name, staff).headers["Location"].startswith("/admin/account/factors/confirm/"), name
    staff.refresh_from_db()
    assert staff.is_active
    assert staff.has_usable_password()
    assert where_to(client) == ""


def test_giving_a_role_needs_a_fresh_second_factor(administrator: Client) -> None:
    staff = enrolled("viewer")
    page = f"/admin/staff/staff/{staff.pk}/change/"
    form = {"email": staff.email, "groups": [Group.objects.get(name="auditor").pk]}
    make_older(administrator)
    assert administrator.post(page, form).headers["Location"].startswith("/admin/account/factors/confirm/")
    assert [group.name for group in staff.groups.all()] == ["viewer"]


# Who is protected


def test_nobody_does_it_to_themselves(administrator: Client) -> None:
    oneself = Staff.objects.get(username=name_of(administrator))
    person(ADMINISTRATOR)
    for name in ACTS:
        with pytest.raises(RefusedError, match="This is your own account"):
            getattr(staff_access, name)(staff=oneself, reason=REASON, by=oneself)
        # The page says who does it.
        assert "This is your own account" in act(administrator, name, oneself).content.decode(), name
    oneself.refresh_from_db()
    assert oneself.is_active
    assert where_to(administrator) == ""


def test_an_administrator_does_nothing_to_a_superuser(administrator: Client) -> None:
    root = Staff.objects.create_superuser("root", password="a password of root")
    by = Staff.objects.get(username=name_of(administrator))
    for name in (*ACTS, "enable"):
        assert act(administrator, name, root).status_code == 403
        with pytest.raises(RefusedError, match="Only superusers"):
            getattr(staff_access, name)(staff=root, reason=REASON, by=by)
    root.refresh_from_db()
    assert root.is_active
    assert root.check_password("a password of root")


def test_the_last_administrator_is_not_disabled_by_an_operator_neither() -> None:
    last = person(ADMINISTRATOR)
    factories.StaffFactory.create(role="viewer")
    assert "only active administrator" in refusal("disable_staff", last.username, "--reason", REASON)
    # Who has not chosen a password yet may never come.
    person(ADMINISTRATOR, password_is_one_time=True)
    person(ADMINISTRATOR, is_active=False)
    assert "only active administrator" in refusal("disable_staff", last.username, "--reason", REASON)
    person(ADMINISTRATOR)
    assert outcome("disable_staff", last.username, "--reason", REASON)["username"] == last.username


def test_the_last_administrator_keeps_the_role(settings: Settings) -> None:
    settings.STAFF_MFA_REQUIRED = False
    last, viewer = person(ADMINISTRATOR), Group.objects.get(name="viewer")
    form_class = modelform_factory(Staff, form=StaffForm, fields=["email", "groups"])
    with transaction.atomic():
        form = form_class({"email": last.email, "groups": [viewer.pk]}, instance=last)
        assert "only active administrator" in str(form.errors)
        person(ADMINISTRATOR)
        assert form_class({"email": last.email, "groups": [viewer.pk]}, instance=last).is_valid()


# By command


def test_reset_staff_mfa_forces_enrolment_and_is_recorded_for_good(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SUDO_USER", "olivia")
    staff, stays = enrolled(), inside(enrolled())
    client = inside(staff)
    for reason in ("", "  ", "x" * 501):
        assert refusal("reset_staff_mfa", staff.username, "--reason", reason).startswith("reason: ")
    assert "not found" in refusal("reset_staff_mfa", "nobody", "--reason", REASON)
    assert run("reset_staff_mfa", staff.username).status == 2
    assert where_to(client) == ""
    done = {"username": staff.username, "factors": 1, "sessions": 1}
    assert outcome("reset_staff_mfa", staff.username, "--reason", REASON) == done
    assert not Authenticator.objects.filter(user=staff).exists(), "recovery codes too"
    assert (where_to(client), where_to(stays)) == ("/admin/login/", "")
    assert where_to(log_in(staff)[0]) == FACTORS
    entry = line("staff.factorReset", staff)
    assert (entry.actor, entry.detail["reason"]) == ("olivia", REASON)
    for statement in ("UPDATE core_auditentry SET actor = ''", "DELETE FROM core_auditentry"):
        with pytest.raises((ProgrammingError, IntegrityError)), undone(), connection.cursor() as cursor:
            cursor.execute(statement)


def test_disable_staff_says_how_much_it_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SUDO_USER", "olivia")
    staff = enrolled("reviewer")
    client = inside(staff)
    claim = factories.ClaimFactory.create(staff=staff)
    assert outcome("disable_staff", staff.username, "--reason", REASON) == {
        "username": staff.username,
        "sessions": 1,
        "claims": 1,
        "proposals": 0,
    }
    assert where_to(client) == "/admin/login/"
    assert not Claim.objects.filter(user=claim.user).exists()
    released = AccessRecord.objects.get(user=claim.user, kind="released")
    assert released.detail == "Released by the operator olivia, who disabled the account."
    entry = line("staff.disabled", staff)
    assert (entry.actor, entry.actor_kind, entry.detail["command"]) == ("olivia", "operator", "disable_staff")


def test_disable_staff_refuses_a_second_time_a_stranger_and_no_reason() -> None:
    staff = person()
    printed("disable_staff", staff.username, "--reason", REASON)
    assert "disabled already" in refusal("disable_staff", staff.username, "--reason", REASON)
    assert "not found" in refusal("disable_staff", "nobody", "--reason", REASON)
    assert refusal("disable_staff", person().username, "--reason", " ").startswith("reason: ")
    assert run("disable_staff", staff.username).status == 2


def test_list_staff_says_roles_second_factor_last_sign_in_and_state() -> None:
    active, disabled = enrolled("reviewer"), person("viewer", is_active=False)
    inside(active)
    invited = outcome("create_staff", "grace", "--email", "g@example.com", "--role", "auditor")["username"]
    rows = {row["username"]: row for row in outcome("list_staff")["staff"]}
    active.refresh_from_db()
    assert active.last_login is not None
    signed_in = rows[active.username].pop("lastSignInAt")
    assert signed_in.startswith(f"{active.last_login:%Y-%m-%dT%H:%M:%S}")
    assert rows[active.username] == {
        "username": active.username,
        "roles": ["reviewer"],
        "secondFactor": True,
        "state": "active",
    }
    assert rows[invited] == {
        "username": "grace",
        "roles": ["auditor"],
        "secondFactor": False,
        "lastSignInAt": None,
        "state": "invited",
    }
    assert rows[disabled.username]["state"] == "disabled"
    assert "reviewer" in printed("list_staff")


def test_the_account_of_simulated_decisions_is_not_staff() -> None:
    Staff.objects.create(username=Staff.SANDBOX, is_staff=False, password="!")
    assert Staff.SANDBOX not in {row["username"] for row in outcome("list_staff")["staff"]}
    assert "not found" in refusal("disable_staff", Staff.SANDBOX, "--reason", REASON)


# The pages


def test_the_list_says_it_in_words(settings: Settings) -> None:
    settings.STAFF_MFA_REQUIRED = False
    client, staff = client_as(ADMINISTRATOR), enrolled("reviewer")
    Staff.objects.filter(pk=staff.pk).update(is_active=False)
    SocialAccount.objects.create(user=person("viewer"), provider="https://login.example", uid="1")
    page = client.get("/admin/staff/staff/").content.decode()
    for text in ("Reviewer", "Viewer", "Authenticator app", "None yet", "Active", "Disabled", "Company account"):
        assert text in page
    assert "pbkdf2" not in page
    assert "close</span>" not in page.partition("<tbody")[2].partition("</table")[0]


def test_the_list_costs_the_same_however_many_accounts_there_are(settings: Settings) -> None:
    settings.STAFF_MFA_REQUIRED = False
    client, counts = client_as(ADMINISTRATOR), []
    for number in (1, 2):
        for _ in range(number):
            enrolled()
        with CaptureQueriesContext(connection) as sent:
            client.get("/admin/staff/staff/")
        counts.append(len(sent))
    assert counts[0] == counts[1]


def test_the_page_of_an_account_shows_no_part_of_the_password(settings: Settings) -> None:
    settings.STAFF_MFA_REQUIRED = False
    staff = person()
    for role in ("auditor", "superuser"):
        page = client_as(role).get(f"/admin/staff/staff/{staff.pk}/change/")
        assert page.status_code == 200
        assert not any(part in page.content.decode() for part in ("pbkdf2", "md5", "algorithm", staff.password))


def test_the_list_is_filtered_by_state() -> None:
    request = RequestFactory().get("/admin/staff/staff/")
    accounts = {
        "active": person("auditor"),
        "invited": person(password_is_one_time=True),
        "disabled": person(is_active=False),
    }
    for state, account in accounts.items():
        request.GET = QueryDict(f"state={state}")
        request.user = accounts["active"]
        found = admin.site.get_model_admin(Staff).get_changelist_instance(request)
        assert [row.pk for row in found.result_list] == [account.pk], state
