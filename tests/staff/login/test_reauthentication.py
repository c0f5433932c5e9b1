"""A second factor given just now: before a key is issued, and before factors are changed."""

from collections.abc import Callable
from typing import Any
from urllib.parse import unquote

import pytest
from django.contrib.auth.models import Group
from django.core.cache import cache
from django.test import Client
from django.urls import reverse
from pytest_django import Settings

from partners.authentication import keys
from partners.models import ApiKey, Partner
from staff.login.factors import FRESH_SECONDS
from tests.staff.login.test_login import FACTORS, age, enrolled, inside, where_to
from tests.support.approval_rules import no_rules_left, reviewer, set_rule
from tests.support.client import Response
from tests.support.staff import totp_code
from tests.users.deciding import version_of
from users.decisions import compliance, proposals
from users.models import User

pytestmark = pytest.mark.django_db

CONFIRM = f"{FACTORS}confirm/"


@pytest.fixture(autouse=True)
def required(settings: Settings) -> None:
    settings.STAFF_MFA_REQUIRED = True


def grow_stale(client: Client, seconds: int = FRESH_SECONDS) -> None:
    session = client.session
    records = session["account_authentication_methods"]
    for record in records:
        record["at"] -= seconds + 1
    session["account_authentication_methods"] = records
    session.save()


def issue(client: Client, partner: Partner) -> Any:
    return client.post(f"/admin/partners/partner/{partner.pk}/issue/", {"label": "production", "version": ""})


def confirm(client: Client, asked: Any, code: str = "") -> Any:
    """Answers the page that asks for the factor."""
    path, _, query = asked.headers["Location"].partition("?next=")
    assert path == CONFIRM
    return client.post(path, {"code": code or totp_code(periods=1), "next": unquote(query)})


def test_a_factor_of_the_login_is_fresh_for_a_quarter_of_an_hour(partner: Partner) -> None:
    response = issue(inside(enrolled()), partner)
    assert "psi_secret_" in response.content.decode()


def test_a_stale_one_is_asked_for_and_then_the_key_is_issued_once(partner: Partner) -> None:
    client = inside(enrolled())
    grow_stale(client)
    asked = issue(client, partner)
    # What waits is kept without the process's environment.
    kept = client.session["account_reauthentication_state"]
    assert kept.keys() == {"callback", "state"}
    assert kept["state"].keys() == {"path", "post", "at", "back"}
    confirm(client, asked, code="000000")
    assert not ApiKey.objects.exists()
    response = confirm(client, asked)
    assert "psi_secret_" in response.content.decode()
    assert "no-store" in response.headers["Cache-Control"]
    assert ApiKey.objects.get().label == "production"
    cache.clear()
    confirm(client, asked)
    assert ApiKey.objects.count() == 1


def test_the_second_person_gives_one_of_the_last_ten_minutes(create_user: Callable[..., Response]) -> None:
    user = User.objects.get(pk=create_user().json()["userId"])
    with no_rules_left():
        set_rule("always")
        # Both first: what the test's one transaction does later is put down to who acted last.
        first, second = reviewer(), enrolled(role="reviewer")
        client = inside(second)
        proposal = proposals.propose(compliance.Decision(user=user, to_status="active", by=first, reason="Seen."))
        grow_stale(client, seconds=10 * 60)
        asked = client.post(
            reverse("backoffice_approve_proposal", args=(user.pk,)),
            {"proposal": str(proposal.pk), "version": version_of(user)},
        )
        assert asked_for(client, asked) == "10"
        user.refresh_from_db()
        assert user.status == "pendingCompliance"
        confirm(client, asked)
        user.refresh_from_db()
        assert user.status == "active"


def asked_for(client: Client, asked: Any) -> str:
    """Within how many minutes, as the page says to which a person was sent."""
    page = client.get(asked.headers["Location"]).content.decode()
    return page.partition("was verified within the last ")[2].partition(" minutes")[0]


def test_rotating_asks_for_one_too(partner: Partner) -> None:
    client = inside(enrolled())
    key = keys.issue(partner=partner).record
    grow_stale(client)
    asked = client.post(f"/admin/partners/apikey/{key.pk}/rotate/", {"overlap_hours": 24, "version": str(key.pk)})
    assert ApiKey.objects.count() == 1
    confirm(client, asked)
    assert ApiKey.objects.count() == 2


def test_what_waits_is_done_at_an_address_with_a_query() -> None:
    """Where a row of a filtered list leads, the address has the filters, and the form is sent to it."""
    administrator = enrolled(role="administrator")
    client, colleague = inside(administrator), reviewer()
    grow_stale(client)
    page = reverse("admin:staff_staff_change", args=(colleague.pk,), query={"_changelist_filters": "q=ada&p=2"})
    form = {"email": colleague.email, "initial-groups": [colleague.groups.get().pk]}
    form["groups"] = [Group.objects.get(name="auditor").pk]
    response = confirm(client, client.post(page, form))
    assert [group.name for group in colleague.groups.all()] == ["auditor"]
    assert response.status_code == 302
    assert "q=ada&p=2" in response.headers["Location"]


def test_the_password_is_no_factor() -> None:
    client = inside(enrolled())
    page = client.get(CONFIRM).content.decode()
    assert "password" not in page.casefold()


def test_what_waits_is_not_done_once_the_person_went_elsewhere(partner: Partner) -> None:
    client = inside(enrolled())
    grow_stale(client)
    issue(client, partner)
    response = client.post(CONFIRM, {"code": totp_code(periods=1), "next": "/admin/"})
    assert response.headers["Location"] == "/admin/"
    assert not ApiKey.objects.exists()


def test_what_waits_is_not_done_once_something_else_has_asked(partner: Partner) -> None:
    client = inside(enrolled())
    grow_stale(client)
    asked = issue(client, partner)
    client.get(f"{FACTORS}recovery-codes/new/")
    confirm(client, asked)
    assert not ApiKey.objects.exists()


CHANGES = (
    "app/remove/",
    "passkeys/add/",
    "passkeys/1/",
    "passkeys/1/remove/",
    "recovery-codes/",
    "recovery-codes/new/",
)


def test_changing_factors_asks_for_one_and_looking_at_other_pages_does_not() -> None:
    client = inside(enrolled())
    grow_stale(client)
    for path in CHANGES:
        assert where_to(client, FACTORS + path) == CONFIRM, path
    assert where_to(client) == ""


def test_who_has_a_passkey_alone_is_asked_for_that() -> None:
    from allauth.mfa.models import Authenticator

    staff = enrolled()
    client = inside(staff)
    Authenticator.objects.filter(user=staff, type="totp").update(type="webauthn", data={"name": "key"})
    grow_stale(client)
    assert where_to(client, f"{FACTORS}recovery-codes/new/") == f"{FACTORS}passkeys/confirm/"


def test_an_expired_session_needs_a_whole_login(partner: Partner) -> None:
    client = inside(enrolled())
    age(client, 13 * 3600, "staff_login.started")
    assert issue(client, partner).headers["Location"].startswith("/admin/login/")
    assert not ApiKey.objects.exists()
