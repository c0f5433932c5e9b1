"""Deciding about users on the case page: contract, section 8."""

import re
from collections.abc import Callable
from html import unescape
from typing import NoReturn
from uuid import uuid4

import pytest
from django.db import OperationalError
from django.test import Client
from psycopg.errors import LockNotAvailable

from tests import factories
from tests.support.client import PartnerClient, Response
from tests.support.staff import client_as, client_of, hidden_version
from tests.users.deciding import case_of, decide_url, decision, page_of, shown_version
from users import claims
from users.decisions import compliance, proposals
from users.decisions.reasons import REASONS
from users.models import Claim, StatusChange, User
from users.models.statuses import TRANSITIONS, Status


def send(client: Client, user: User, **fields: str) -> str:
    return client.post(decide_url(user), decision(user, **fields), follow=True).content.decode()


def locked(*_args: object, **_: object) -> NoReturn:
    raise OperationalError from LockNotAvailable()


def offered(page: str) -> list[str]:
    return re.findall(r'data-dialog="decide-(\w+)"', page)


def test_a_decision_moves_the_status_and_is_recorded(user: User) -> None:
    staff = factories.StaffFactory.create(role="reviewer")
    page = send(client_of(staff), user, note="Passport seen.")
    assert "ada is now: Active." in page
    change = StatusChange.objects.get(user=user)
    assert (change.from_status, change.to_status) == ("pendingCompliance", "active")
    assert (change.by, change.reason, change.reason_code) == (staff, "Passport seen.", "verified")
    user.refresh_from_db()
    assert user.status == "active"


def test_without_a_note_the_reason_is_the_text_of_the_code(user: User) -> None:
    send(client_as("reviewer"), user)
    assert StatusChange.objects.get(user=user).reason == "Identity and address verified"


def test_the_partner_sees_the_decision(user: User, api: PartnerClient) -> None:
    send(client_as("reviewer"), user)
    assert api.get("/v1/users/ada").json()["status"] == "active"


def test_the_history_names_the_request(user: User) -> None:
    client = client_as("reviewer")
    response = client.post(decide_url(user), decision(user))
    event = user.events.latest("pgh_id")
    assert event.pgh_context["source"] == f"request {response.headers['X-Request-Id']}"


# Moves offered


@pytest.mark.parametrize("status", Status)
def test_only_allowed_moves_are_offered(status: Status, user: User) -> None:
    factories.decide(user, status)
    assert offered(page_of(client_as("reviewer"), user)) == [move.value for move in TRANSITIONS[status]]


def test_each_move_has_reasons_with_distinct_codes() -> None:
    moves = {(start, end) for start, ends in TRANSITIONS.items() for end in ends}
    assert set(REASONS) == moves
    for reasons in REASONS.values():
        codes = [reason.value for reason in reasons]
        assert len(set(codes)) == len(codes)
        assert all(len(code) <= compliance.REASON_CODE_LENGTH for code in codes)


# Refusals


@pytest.mark.parametrize(
    ("fields", "said", "code"),
    [
        ({"to_status": "closed"}, "cannot become closed", 409),
        ({"to_status": "pendingCompliance"}, "already", 409),
        ({"to_status": "nonsense"}, "Unknown status", 400),
        ({"to_status": ""}, "Unknown status", 400),
        ({"reason_code": ""}, "Choose a reason.", 422),
        ({"reason_code": "fraudSuspected"}, "Select a valid choice.", 422),
        ({"reason_code": "other"}, "A note is required.", 422),
        ({"to_status": "rejected", "reason_code": "notVerified"}, "A note is required.", 422),
        ({"to_status": "rejected", "reason_code": "notVerified", "note": "  "}, "A note is required.", 422),
        ({"note": "a\0b"}, "Null characters are not allowed.", 422),
        ({"note": "a" * 2001}, "at most 2000 characters", 422),
    ],
)
def test_a_refused_decision_changes_nothing_and_says_why(
    fields: dict[str, str], said: str, code: int, user: User
) -> None:
    client = client_as("reviewer")
    response = client.post(decide_url(user), decision(user, **fields))
    assert (response.status_code, said in response.content.decode()) == (code, True)
    assert not StatusChange.objects.exists()


@pytest.mark.parametrize("to_status", [Status.SUSPENDED, Status.CLOSED])
def test_suspending_and_closing_need_a_note(to_status: Status, user: User) -> None:
    factories.decide(user, Status.ACTIVE)
    client = client_as("reviewer")
    asked = decision(user, to_status=to_status.value, reason_code="partnerRequest")
    assert client.post(decide_url(user), asked).status_code == 422
    assert client.post(decide_url(user), asked | {"note": "Their letter of today."}).status_code == 302
    user.refresh_from_db()
    assert user.status == to_status


def test_a_changed_case_that_was_rejected_before_is_not_approved_without_a_note(user: User, api: PartnerClient) -> None:
    factories.reopen(user)
    client = client_as("reviewer")
    assert "(optional)" in page_of(client, user)
    api.patch("/v1/users/ada", {"lastName": "Lovelace"})
    approval = page_of(client, user).split('id="decide-active"')[1].split("</dialog>")[0]
    assert "(required)" in approval
    page = send(client, user, reason_code="riskFlagsExplained")
    assert "A note is required." in page
    user.refresh_from_db()
    assert user.status == "pendingCompliance"
    assert "ada is now: Active." in send(client, user, reason_code="riskFlagsExplained", note="Passport seen.")


def test_an_incomplete_form_is_shown_again_in_an_open_dialog(user: User) -> None:
    client = client_as("reviewer")
    asked = decision(user, reason_code="other", then="stay") | {"note": ""}
    page = client.post(decide_url(user), asked).content.decode()
    dialog = re.search(r'<dialog[^>]*id="decide-active"[^>]*>.*?</dialog>', page, re.DOTALL)
    assert dialog
    assert re.search(r'id="decide-active"[^>]* open>', dialog[0])
    assert re.search(r'value="other"[^>]* checked', dialog[0])


# Concurrent changes


def test_a_decision_on_a_changed_user_is_refused_and_names_the_fields(user: User, api: PartnerClient) -> None:
    client = client_as("reviewer")
    stale = decision(user, to_status="rejected", reason_code="notVerified", note="A long story.")
    api.patch("/v1/users/ada", {"email": "new@example.com", "lastName": "King"})
    response = client.post(decide_url(user), stale)
    page = response.content.decode()
    refusal = page[page.index('role="alert"') : page.index("<header class=")]
    assert response.status_code == 409
    for said in ("Last name", "Byron", "King", "Email", "ada@example.com", "new@example.com"):
        assert said in refusal
    assert "Date of birth" not in refusal
    assert not StatusChange.objects.exists()
    assert "A long story." in page
    client.post(decide_url(user), stale | {"version": hidden_version(page, "/decide/")})
    assert StatusChange.objects.get(user=user).to_status == "rejected"


def test_of_two_decisions_the_second_is_refused_and_names_the_first(user: User) -> None:
    first, second = factories.StaffFactory.create(role="reviewer"), factories.StaffFactory.create(role="reviewer")
    asked = decision(user, to_status="rejected", reason_code="notVerified", note="No papers.")
    send(client_of(first), user, note="All papers seen.")
    response = client_of(second).post(decide_url(user), asked)
    page = response.content.decode()
    refusal = page[page.index('role="alert"') : page.index("<header class=")]
    assert response.status_code == 409
    for said in (first.username, "Pending compliance → Active", "All papers seen."):
        assert said in refusal
    assert StatusChange.objects.get(user=user).by == first


def test_a_form_sent_twice_decides_once(user: User) -> None:
    client = client_as("reviewer")
    asked = decision(user)
    assert [client.post(decide_url(user), asked).status_code for _ in range(2)] == [302, 409]
    assert StatusChange.objects.filter(user=user).count() == 1


def test_a_status_that_moved_and_returned_is_another_version(user: User) -> None:
    factories.decide(user, Status.ACTIVE)
    client = client_as("reviewer")
    asked = decision(user, to_status="closed", reason_code="userRequest", note="Asked for it.")
    for status in (Status.SUSPENDED, Status.ACTIVE):
        compliance.decide(
            compliance.Decision(user=user, to_status=status, by=factories.StaffFactory.create(), reason="A look at it.")
        )
    page = client.post(decide_url(user), asked).content.decode()
    assert "Suspended → Active" in page
    assert "A look at it." in page
    user.refresh_from_db()
    assert user.status == "active"


@pytest.mark.parametrize(
    "version", ["", "nonsense", "2026-01-01T00:00:00+00:00/0", "2026-01-01T00:00:00/0", "/", "9/9/9", "\0"]
)
def test_an_invalid_version_is_refused(version: str, user: User) -> None:
    client = client_as("reviewer")
    response = client.post(decide_url(user), decision(user, version=version))
    assert response.status_code == 409
    assert not StatusChange.objects.exists()


# Claims


def test_a_case_that_somebody_else_has_claimed_cannot_be_decided(user: User) -> None:
    holder, other = factories.StaffFactory.create(role="reviewer"), client_as("reviewer")
    asked = decision(user)
    Claim.objects.create(user=user, staff=holder)
    response = other.post(decide_url(user), asked)
    assert response.status_code == 409
    assert f"{holder.username} has claimed this case" in response.content.decode()
    assert not StatusChange.objects.exists()
    page = page_of(other, user)
    assert offered(page) == []
    assert "only they can decide until it is released" in page


def test_the_holder_of_the_claim_can_decide(user: User) -> None:
    holder = factories.StaffFactory.create(role="reviewer")
    Claim.objects.create(user=user, staff=holder)
    client = client_of(holder)
    page = page_of(client, user)
    assert "You have claimed this case" in page
    assert hidden_version(page, "/decide/") == hidden_version(page, "/ask/") == shown_version(user)
    send(client, user)
    assert StatusChange.objects.get(user=user).by == holder
    assert not Claim.objects.exists()


# After the decision


def test_after_deciding_the_next_case_is_claimed_and_shown(user: User, create_user: Callable[..., Response]) -> None:
    following = User.objects.get(pk=create_user().json()["userId"])
    staff = factories.StaffFactory.create(role="reviewer")
    client = client_of(staff)
    response = client.post(decide_url(user), decision(user, then="next"))
    assert response.headers["Location"] == case_of(following)
    assert Claim.objects.get(user=following).staff == staff
    assert "This is the next case." in client.get(case_of(following)).content.decode()


def test_after_the_last_case_the_queue_is_shown(user: User) -> None:
    client = client_as("reviewer")
    response = client.post(decide_url(user), decision(user, then="next"))
    assert response.headers["Location"] == "/admin/users/user/queue/"
    assert "There is no free case." in client.get("/admin/users/user/queue/").content.decode()


def test_a_decision_that_meets_a_locked_user_can_be_sent_again(user: User, monkeypatch: pytest.MonkeyPatch) -> None:
    client = client_as("reviewer")
    fields = decision(user, note="Passport seen.")
    monkeypatch.setattr(proposals, "decide", locked)
    page = client.post(decide_url(user), fields, follow=True).content.decode()
    assert "The user is being changed right now: try again." in page
    assert ">Passport seen.</textarea>" in unescape(page).replace("\n", "")


@pytest.mark.parametrize("rule", ["claim", "release"])
def test_a_claim_that_meets_a_locked_user_says_so(rule: str, user: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(claims, rule, locked)
    response = client_as("reviewer").post(f"{case_of(user)}{rule}/", follow=True)
    assert "The user is being changed right now: try again." in response.content.decode()


# Login


def test_a_decision_after_the_session_has_ended_is_told_as_not_done(user: User) -> None:
    client = client_as("reviewer")
    fields = decision(user)
    client.logout()
    response = client.post(decide_url(user), fields, follow=True)
    assert "Your session has ended: nothing was done." in response.content.decode()
    assert not StatusChange.objects.exists()


def test_a_post_without_csrf_token_is_refused(user: User) -> None:
    client = client_of(factories.StaffFactory.create(role="reviewer"), enforce_csrf_checks=True)
    response = client.post(decide_url(user), decision(user))
    assert (response.status_code, "Nothing was done" in response.content.decode()) == (403, True)
    assert not StatusChange.objects.exists()


def test_a_decision_about_an_unknown_user_is_not_found(db: None) -> None:
    for pk in (uuid4(), "nonsense", "%00"):
        assert client_as("reviewer").post(f"/admin/cases/{pk}/decide/").status_code == 404
