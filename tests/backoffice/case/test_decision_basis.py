"""What is kept with each decision and review: what the person saw, and for how long the case was open."""

from collections.abc import Callable
from datetime import timedelta
from html import unescape
from typing import Any

import pytest
from django.core import signing
from django.db import IntegrityError, connection, transaction
from django.test import Client
from django.test.utils import CaptureQueriesContext

from backoffice.exports.evidence_pack import decided_on
from tests import factories
from tests.support.client import PartnerClient, Response, Transport
from tests.support.commands import run
from tests.support.staff import client_as, client_of
from tests.users.deciding import case_of, decide_url, decision, page_of, review_form
from users.decisions import bulk_approval, decision_basis
from users.decisions.changes import version_of
from users.models import AccessRecord, DecisionBasis, Staff, Status, StatusChange, User


@pytest.fixture
def user(create_user: Callable[..., Response]) -> User:
    return User.objects.get(pk=create_user(externalId="ada").json()["userId"])


@pytest.fixture
def reviewer(db: None) -> Staff:
    return factories.StaffFactory.create(role="reviewer")


def codes(basis: DecisionBasis) -> list[str]:
    return [flag["code"] for flag in basis.data["riskFlags"]]


def kept() -> DecisionBasis:
    return DecisionBasis.objects.latest("id")


# The page


def test_the_case_begins_with_an_earlier_rejection_and_what_has_changed_since(user: User, api: PartnerClient) -> None:
    factories.reopen(user, reason="The name is another.", reason_code="notVerified")
    api.patch("/v1/users/ada", {"lastName": "Lovelace"})
    page = unescape(page_of(client_as("reviewer"), user))
    card = page[page.index('id="previous-previouslyRejected"') : page.index('id="risk-flags-title"')]
    rejection = StatusChange.objects.get(to_status=Status.REJECTED)
    for said in (
        "Previously rejected",
        rejection.by.username,
        "Identity or address could not be verified",
        "The name is another.",
        "<del>Byron</del>",
        "<ins>Lovelace</ins>",
    ):
        assert said in card
    # Not twice on the page.
    assert 'id="changes-title"' not in page


# Decisions


def test_a_decision_keeps_the_flags_and_changes_of_the_page(user: User, reviewer: Staff, api: PartnerClient) -> None:
    factories.reopen(user, reason="The name is another.", reason_code="notVerified")
    api.patch("/v1/users/ada", {"lastName": "Lovelace", "dateOfBirth": "1990-12-11"})
    client = client_of(reviewer)
    form = decision(client, user, note="Passport seen.")
    user.refresh_from_db()
    version = version_of(user)
    # After the page: the person has not seen this flag.
    api.post("/v1/users", factories.user_body(email="ADA@example.com", firstName="Eve"))
    assert client.post(decide_url(user), form).status_code == 302
    basis = kept()
    rejection = StatusChange.objects.get(to_status=Status.REJECTED)
    assert (basis.decision, basis.staff, basis.was_shown) == (StatusChange.objects.latest("id"), reviewer, True)
    assert basis.data["version"] == version
    assert codes(basis) == ["previouslyRejected", "changed"]
    assert basis.data["riskFlags"][0]["data"] == {
        "decidedAt": rejection.created_at.isoformat(),
        "by": rejection.by.username,
        "reasonCode": "notVerified",
        "reason": "The name is another.",
    }
    [changes] = basis.data["changes"]
    assert (changes["decision"], changes["fields"]) == (
        rejection.pk,
        {"last_name": ["Byron", "Lovelace"], "date_of_birth": ["1990-12-10", "1990-12-11"]},
    )


def test_it_says_how_long_the_case_was_open(user: User, reviewer: Staff) -> None:
    client = client_of(reviewer)
    form = decision(client, user)
    client.post(decide_url(user), form)
    open_for = StatusChange.objects.get().created_at - AccessRecord.objects.get().created_at
    assert kept().open_seconds == round(open_for.total_seconds())
    factories.StatusChangeFactory.create(user=user, to_status=Status.SUSPENDED, by=reviewer)
    # That opening was of the case in an earlier status.
    assert kept().open_seconds is None


@pytest.mark.parametrize("shown", ["", "nonsense", "of another user", "of another person", "of another version"])
def test_what_no_page_has_shown_is_not_kept_as_shown(
    shown: str, user: User, reviewer: Staff, api: PartnerClient, create_user: Callable[..., Response]
) -> None:
    client = client_of(reviewer)
    if shown == "of another user":
        shown = decision(client, User.objects.get(pk=create_user().json()["userId"]))["snapshot"]
    elif shown == "of another person":
        shown = decision(client_as("reviewer"), user)["snapshot"]
    elif shown == "of another version":
        shown = decision(client, user)["snapshot"]
        api.patch("/v1/users/ada", {"city": "Ottawa"})
    client.post(decide_url(user), decision(client, user, snapshot=shown))
    assert kept().was_shown is False


def test_a_page_signs_what_it_sends_back(user: User, reviewer: Staff) -> None:
    client = client_of(reviewer)
    form = decision(client, user)
    forged = signing.dumps({"user": str(user.pk), "staff": reviewer.pk, "data": {}}, salt="another")
    assert form["snapshot"]
    client.post(decide_url(user), form | {"snapshot": forged})
    assert kept().was_shown is False


def test_a_decision_by_command_keeps_what_the_page_would_have_shown(user: User, reviewer: Staff) -> None:
    User.objects.filter(pk=user.pk).update(is_ciro_affiliate=True)
    arguments = [user.partner.slug, "ada", "active", "--reason", "Seen.", "--by", reviewer.username]
    run("change_user_status", *arguments)
    basis = kept()
    assert (codes(basis), basis.was_shown, basis.open_seconds) == (["ciroAffiliate"], False, None)
    page = unescape(page_of(client_as("auditor"), user))
    assert "Not decided on its page, but by a command" in page
    assert "The case had not been opened." in page


def test_an_approval_of_several_keeps_what_the_page_would_have_shown(user: User, reviewer: Staff) -> None:
    page_of(client_of(reviewer), user)
    user.refresh_from_db()
    choice = bulk_approval.Choice(user.pk, version_of(user))
    bulk_approval.approve_all(choices=[choice], reason="Seen.", reason_code="verified", by=reviewer, source="request a")
    basis = kept()
    assert (basis.was_shown, basis.data["source"]) == (False, "request a")
    assert basis.open_seconds is not None


def test_a_refused_decision_keeps_nothing(user: User, reviewer: Staff) -> None:
    client = client_of(reviewer)
    client.post(decide_url(user), decision(client, user, to_status="closed"))
    assert not DecisionBasis.objects.exists()


def test_a_decision_on_the_page_costs_one_statement_more_than_without_it(
    user: User, reviewer: Staff, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = client_of(reviewer)

    def statements(to_status: str) -> int:
        form = decision(client, user, to_status=to_status, reason_code="other", note="Seen.")
        with CaptureQueriesContext(connection) as captured:
            assert client.post(decide_url(user), form).status_code == 302
        return len(captured)

    statements("active")
    with_basis = statements("suspended")
    monkeypatch.setattr(decision_basis, "collect", lambda **_: None)
    assert statements("active") == with_basis - 1


# Reviews


def test_a_review_keeps_old_and_new_values_and_the_note(user: User, reviewer: Staff, api: PartnerClient) -> None:
    factories.decide(user, Status.ACTIVE)
    api.patch("/v1/users/ada", {"lastName": "Lovelace"})
    client = client_of(reviewer)
    page = page_of(client, user)
    dialog = unescape(page[page.index('id="review"') :].partition("</dialog>")[0])
    assert "<del>Byron</del>" in dialog
    assert "<ins>Lovelace</ins>" in dialog
    assert client.post(f"{case_of(user)}reviewed/", review_form(page)).status_code == 302
    review = AccessRecord.objects.get(kind="reviewed")
    assert (review.staff, review.detail) == (reviewer, "Certificate seen.")
    assert (kept().review, kept().was_shown) == (review, True)
    assert kept().open_seconds is not None
    assert kept().data["changes"][0]["fields"] == {"last_name": ["Byron", "Lovelace"]}
    timeline = unescape(page_of(client, user)).partition('id="timeline"')[2]
    for said in ("Reviewed on this", "Certificate seen.", "<del>Byron</del> → <ins>Lovelace</ins>"):
        assert said in timeline


# Readers


def test_a_viewer_reads_no_birth_date_in_what_was_shown(user: User, reviewer: Staff, api: PartnerClient) -> None:
    factories.reopen(user)
    api.patch("/v1/users/ada", {"dateOfBirth": "1991-01-02", "postalCode": "H3B 2Y5"})
    client = client_of(reviewer)
    client.post(decide_url(user), decision(client, user))
    page = page_of(client_as("viewer"), user)
    assert "Decided on this" in page
    for private in ("1991", "Jan. 2", "H3B"):
        assert private not in page
        assert private in page_of(client_as("auditor"), user)


def test_the_evidence_pack_has_what_each_decision_and_review_was_based_on(
    user: User, reviewer: Staff, api: PartnerClient
) -> None:
    client = client_of(reviewer)
    client.post(decide_url(user), decision(client, user))
    api.patch("/v1/users/ada", {"lastName": "Lovelace"})
    client.post(f"{case_of(user)}reviewed/", review_form(page_of(client, user)))
    approval, review = decided_on(user)
    told: dict[str, Any] = {"by": reviewer.username, "from": "pendingCompliance", "to": "active", "shown": True}
    assert {name: approval[name] for name in told} == told
    assert (approval["riskFlags"], approval["changes"]) == ([], [])
    assert approval["openSeconds"] is not None
    assert (review["to"], review["changes"][0]["fields"]) == (None, {"lastName": ["Byron", "Lovelace"]})


# The database


def test_the_database_refuses_a_basis_without_its_decision(user: User) -> None:
    factories.decide(user, Status.ACTIVE)
    with pytest.raises(IntegrityError, match="recorded with its decision"), transaction.atomic():
        DecisionBasis.objects.create(was_shown=True, data={})


def test_the_row_is_of_the_person_who_decided_and_stays(user: User, reviewer: Staff) -> None:
    factories.StatusChangeFactory.create(user=user, to_status=Status.ACTIVE, by=reviewer)
    basis = kept()
    change = StatusChange.objects.get()
    assert (basis.staff, basis.is_sandbox, basis.created_at) == (reviewer, False, change.created_at)
    assert change.created_at - change.since > timedelta(0)


def test_a_simulated_decision_has_none(db: None, transport: Transport) -> None:
    sandbox = factories.client_of(factories.PartnerFactory.create(mode="sandbox"), transport)
    sandbox.post("/v1/users", factories.user_body(externalId="ada"))
    assert sandbox.post("/v1/sandbox/users/ada/status", {"status": "active"}).status == 200
    assert not DecisionBasis.objects.exists()


@pytest.mark.parametrize("role", ["viewer", "auditor"])
def test_only_those_who_decide_are_sent_what_a_form_sends_back(role: str, user: User) -> None:
    client: Client = client_as(role)
    assert 'name="snapshot"' not in page_of(client, user)
