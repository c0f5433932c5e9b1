"""Deciding about users on the case page: contract, section 8."""

import re
from datetime import timedelta
from typing import Any, NoReturn
from uuid import uuid4

import pytest
from django.contrib.messages import get_messages
from django.db import OperationalError
from psycopg.errors import LockNotAvailable

from backoffice.case.forms import DecisionForm, moves
from core.refusals import RefusedError
from partners.models import Partner
from tests import factories
from tests.support.client import PartnerClient
from tests.support.staff import client_as, client_of, hidden_version
from tests.users.deciding import case_of, decide_url, decision, match, page_of, shown_version
from users import claims
from users.decisions import compliance, proposals
from users.decisions.reasons import REASONS
from users.decisions.risk_flags import RISK_FLAGS
from users.models import Claim, StatusChange, User
from users.models.statuses import TRANSITIONS, Status

BUSY = "The user is being changed right now: try again."


@pytest.fixture
def user(partner: Partner) -> User:
    made: User = factories.UserFactory.create(partner=partner, external_id="ada")
    return made


def locked(*_args: object, **_: object) -> NoReturn:
    raise OperationalError from LockNotAvailable()


def offered(page: str) -> list[str]:
    return re.findall(r'data-dialog="decide-(\w+)"', page)


def test_the_holder_of_a_claim_moves_the_status_which_is_recorded(user: User) -> None:
    staff = factories.StaffFactory.create(role="reviewer")
    Claim.objects.create(user=user, staff=staff)
    client = client_of(staff)
    page = page_of(client, user)
    assert "You have claimed this case" in page
    assert "/release/" in page
    assert "/claim/" not in page
    assert hidden_version(page, "/decide/") == hidden_version(page, "/ask/") == shown_version(user)
    assert offered(page) == ["active", "rejected"]

    response = client.post(decide_url(user), decision(user, note="Passport seen."))
    change = StatusChange.objects.get(user=user)
    assert (change.from_status, change.to_status) == ("pendingCompliance", "active")
    assert (change.by, change.reason, change.reason_code) == (staff, "Passport seen.", "verified")
    user.refresh_from_db()
    assert user.status == "active"
    assert user.events.latest("pgh_id").pgh_context["source"] == f"request {response.headers['X-Request-Id']}"
    assert not Claim.objects.exists()

    page = page_of(client, user)
    assert "ada is now: Active." in page
    assert offered(page) == ["suspended", "closed"]


# Moves and reasons


def test_only_allowed_moves_are_offered(db: None) -> None:
    options: dict[str, Any] = {"two_person_moves": (), "proposed": "", "needs_note": False, "sent": None}
    users = {status: factories.UserFactory.build(status=status, open_requirements=0) for status in Status}
    assert {
        status: [(str(move["verb"]), move["to_status"]) for move in moves(user, **options)]
        for status, user in users.items()
    } == {
        "pendingCompliance": [("Approve", "active"), ("Reject", "rejected")],
        "active": [("Suspend", "suspended"), ("Close account", "closed")],
        "rejected": [("Reopen", "pendingCompliance")],
        "suspended": [("Reinstate", "active"), ("Close account", "closed")],
        "closed": [],
    }


def test_each_move_has_reasons_with_distinct_codes() -> None:
    assert set(REASONS) == {(start, end) for start, ends in TRANSITIONS.items() for end in ends}
    for reasons in REASONS.values():
        codes = [reason.value for reason in reasons]
        assert len(set(codes)) == len(codes)
        assert all(len(code) <= 50 for code in codes)


CHOOSE, NOT_OF_THIS_MOVE, NOTE = "Choose a reason.", "Select a valid choice.", "A note is required."


@pytest.mark.parametrize(
    ("start", "end", "code", "note", "refusal"),
    [
        ("pendingCompliance", "active", "verified", "", ""),
        ("pendingCompliance", "active", "", "", CHOOSE),
        ("pendingCompliance", "active", "fraudSuspected", "", NOT_OF_THIS_MOVE),
        ("pendingCompliance", "active", "other", "", NOTE),
        ("pendingCompliance", "active", "verified", "a\0b", "Null characters are not allowed."),
        ("pendingCompliance", "active", "verified", "a" * 2001, "at most 2000 characters"),
        ("pendingCompliance", "rejected", "notVerified", "", NOTE),
        ("pendingCompliance", "rejected", "notVerified", "  ", NOTE),
        ("active", "suspended", "partnerRequest", "", NOTE),
        ("active", "suspended", "partnerRequest", "Their letter of today.", ""),
        ("active", "closed", "partnerRequest", "", NOTE),
        ("active", "closed", "partnerRequest", "Their letter of today.", ""),
    ],
)
def test_a_decision_has_a_reason_of_its_move_and_some_need_a_note(
    start: str, end: str, code: str, note: str, refusal: str
) -> None:
    form = DecisionForm({"reason_code": code, "note": note}, present=Status(start), to_status=end)
    if refusal:
        assert refusal in str(form.errors)
    else:
        assert form.reason() == {"reason": note or "Identity and address verified", "reason_code": code}


def test_a_move_that_is_not_allowed_changes_nothing_and_says_why(user: User) -> None:
    client = client_as("reviewer")
    sent = {
        status: client.post(decide_url(user), decision(user, to_status=status)) for status in ("closed", "none", "")
    }
    assert [response.status_code for response in sent.values()] == [409, 400, 400]
    assert "cannot become closed; allowed: active, rejected" in sent["closed"].content.decode()
    assert "Unknown status" in sent[""].content.decode()
    by = factories.StaffFactory.create()
    with pytest.raises(RefusedError, match="already"):
        compliance.decide(compliance.Decision(user=user, to_status="pendingCompliance", by=by, reason="Seen."))
    assert not StatusChange.objects.exists()


def test_a_changed_case_that_was_rejected_before_is_not_approved_without_a_note(user: User, api: PartnerClient) -> None:
    factories.reopen(user)
    client = client_as("reviewer")
    assert "(optional)" in page_of(client, user)
    api.patch("/v1/users/ada", {"lastName": "Lovelace"})
    page = client.post(decide_url(user), decision(user, reason_code="riskFlagsExplained")).content.decode()
    assert "A note is required." in page
    assert "(required)" in page.split('id="decide-active"')[1].split("</dialog>")[0]
    user.refresh_from_db()
    assert user.status == "pendingCompliance"
    client.post(decide_url(user), decision(user, reason_code="riskFlagsExplained", note="Passport seen."))
    user.refresh_from_db()
    assert user.status == "active"


def test_an_incomplete_form_is_shown_again_in_an_open_dialog(user: User) -> None:
    response = client_as("reviewer").post(decide_url(user), decision(user, reason_code="other"))
    dialog = re.search(r'<dialog[^>]*id="decide-active"[^>]*>.*?</dialog>', response.content.decode(), re.DOTALL)
    assert response.status_code == 422
    assert dialog
    assert re.search(r'id="decide-active"[^>]* open>', dialog[0])
    assert re.search(r'value="other"[^>]* checked', dialog[0])
    assert not StatusChange.objects.exists()


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


@pytest.mark.parametrize("came", ["unresolvedMatch", "earlyConversion"])
def test_a_flag_that_came_since_is_shown_before_the_decision_is_based_on_it(user: User, came: str) -> None:
    client = client_as("reviewer")
    stale = decision(user, note="Passport seen.")
    if came == "unresolvedMatch":
        match(user)
    else:
        factories.add_conversions(user, [user.created_at - timedelta(hours=1)])
    response = client.post(decide_url(user), stale)
    page = response.content.decode()
    assert (response.status_code, StatusChange.objects.exists()) == (409, False)
    for said in ("The user has changed since you loaded the page.", str(RISK_FLAGS[came].title), "Passport seen."):
        assert said in page
    version = hidden_version(page, "/decide/")
    assert came not in version
    assert client.post(decide_url(user), stale | {"version": version}).status_code == 302
    basis: Any = StatusChange.objects.get(user=user).basis
    assert (basis["version"], [flag["code"] for flag in basis["riskFlags"]]) == (version, [came])


def test_of_two_decisions_the_second_is_refused_and_names_the_first(user: User) -> None:
    first = factories.StaffFactory.create(role="reviewer")
    asked = decision(user, to_status="rejected", reason_code="notVerified", note="No papers.")
    client_of(first).post(decide_url(user), decision(user, note="All papers seen."))
    response = client_as("reviewer").post(decide_url(user), asked)
    page = response.content.decode()
    refusal = page[page.index('role="alert"') : page.index("<header class=")]
    assert response.status_code == 409
    for said in (first.username, "Pending compliance → Active", "All papers seen."):
        assert said in refusal
    assert StatusChange.objects.get(user=user).by == first


def test_a_user_is_suspended_and_a_form_from_before_that_is_refused_once_the_status_has_returned(user: User) -> None:
    factories.decide(user, Status.ACTIVE)
    client = client_as("reviewer")
    older = decision(user, to_status="closed", reason_code="userRequest", note="Asked for it.")
    suspension = decision(user, to_status="suspended", reason_code="partnerRequest", note="Their letter of today.")
    assert client.post(decide_url(user), suspension).status_code == 302
    assert StatusChange.objects.latest("id").reason == "Their letter of today."
    by = factories.StaffFactory.create()
    compliance.decide(compliance.Decision(user=user, to_status="active", by=by, reason="A look at it."))
    response = client.post(decide_url(user), older)
    assert response.status_code == 409
    refusal = response.content.decode().partition('role="alert"')[2].partition("<header class=")[0]
    assert "Suspended → Active" in refusal
    assert "A look at it." in refusal
    user.refresh_from_db()
    assert user.status == "active"


def test_an_invalid_version_is_refused(user: User) -> None:
    by = factories.StaffFactory.create()
    made: dict[str, Any] = {"user": user, "to_status": "active", "by": by, "reason": "Seen."}
    for version in ("", "nonsense", "2026-01-01T00:00:00+00:00/0", "2026-01-01T00:00:00/0", "/", "9/9/9", "\0"):
        with pytest.raises(compliance.StaleError):
            compliance.decide(compliance.Decision(**made, expected_version=version))
    assert not StatusChange.objects.exists()


def test_a_case_that_somebody_else_has_claimed_cannot_be_decided(user: User) -> None:
    holder = factories.StaffFactory.create(role="reviewer")
    asked = decision(user)
    Claim.objects.create(user=user, staff=holder)
    response = client_as("reviewer").post(decide_url(user), asked)
    page = response.content.decode()
    assert response.status_code == 409
    for shown in (page, page_of(client_as("auditor"), user)):
        assert f"<strong>{holder.username}</strong> has claimed this case" in shown
    assert f"{holder.username} has claimed this case." in page
    assert "only they can decide until it is released" in page
    assert offered(page) == []
    assert not StatusChange.objects.exists()


@pytest.mark.parametrize("rule", ["decide", "claim", "release"])
def test_a_form_that_meets_a_locked_user_can_be_sent_again(
    rule: str, user: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(proposals if rule == "decide" else claims, rule, locked)
    response = client_as("reviewer").post(f"{case_of(user)}{rule}/", decision(user, note="Passport seen."))
    if rule == "decide":
        page = response.content.decode()
        assert BUSY in page
        assert ">Passport seen.</textarea>" in page.replace("\n", "")
    else:
        assert [str(message) for message in get_messages(response.wsgi_request)] == [BUSY]


# After the decision


def test_after_deciding_the_next_case_is_claimed_and_shown_and_after_the_last_the_queue(
    user: User, partner: Partner
) -> None:
    following = factories.UserFactory.create(partner=partner)
    staff = factories.StaffFactory.create(role="reviewer")
    client = client_of(staff)
    response = client.post(decide_url(user), decision(user, then="next"))
    assert response.headers["Location"] == case_of(following)
    assert Claim.objects.get(user=following).staff == staff
    assert "This is the next case." in page_of(client, following)
    response = client.post(decide_url(following), decision(following, then="next"))
    assert response.headers["Location"] == "/admin/users/user/queue/"
    [message] = get_messages(response.wsgi_request)
    assert "There is no free case." in str(message)


# Login


def test_a_decision_after_the_session_has_ended_is_told_as_not_done(user: User) -> None:
    client = client_as("reviewer")
    client.logout()
    response = client.post(decide_url(user), decision(user), follow=True)
    assert "Your session has ended: nothing was done." in response.content.decode()
    assert not StatusChange.objects.exists()


def test_a_post_without_csrf_token_is_refused(db: None) -> None:
    client = client_of(factories.StaffFactory.create(role="reviewer"), enforce_csrf_checks=True)
    response = client.post(f"/admin/cases/{uuid4()}/decide/")
    assert (response.status_code, "Nothing was done" in response.content.decode()) == (403, True)
