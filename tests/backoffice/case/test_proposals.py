"""Decisions of two people in the back office: docs/operations.md, "Decisions of two people"."""

import re
from collections.abc import Callable, Iterator
from html import unescape

import pytest
from django.test import Client
from django.urls import reverse

from staff.models import Staff
from tests.support.approval_rules import no_rules_left, reviewer, set_rule
from tests.support.client import PartnerClient, Response
from tests.support.staff import client_of, hidden_version
from tests.users.deciding import case_of, decide_url, decision, page_of
from users.decisions.compliance import add_note
from users.decisions.decision_basis import version_of
from users.models import Proposal, StatusChange, User

WAITING = reverse("admin:users_proposal_changelist")


@pytest.fixture(autouse=True)
def always(db: None) -> Iterator[None]:
    with no_rules_left():
        set_rule("always")
        yield


@pytest.fixture
def first() -> Staff:
    return reviewer()


@pytest.fixture
def second() -> Staff:
    return reviewer()


def propose(staff: Staff, user: User) -> Proposal:
    client = client_of(staff)
    client.post(decide_url(user), decision(user, note="Passport seen.", then="stay"))
    return Proposal.objects.get(user=user, state="open")


def act(client: Client, proposal: Proposal, name: str, **fields: str) -> tuple[int, str]:
    url = reverse(f"backoffice_{name}_proposal", args=(proposal.user_id,))
    sent = {"proposal": str(proposal.pk), "version": version_of(User.objects.get(pk=proposal.user_id))} | fields
    response = client.post(url, sent, follow=True)
    return response.status_code, response.content.decode()


def test_the_dialog_proposes_where_a_rule_applies(user: User, first: Staff) -> None:
    page = page_of(client_of(first), user)
    assert "Propose approval" in page
    assert "Another person approves or declines it" in page
    proposal = propose(first, user)
    user.refresh_from_db()
    assert (user.status, proposal.by, proposal.reason) == ("pendingCompliance", first, "Passport seen.")
    assert not StatusChange.objects.exists()


def test_the_case_shows_the_proposal_and_tells_the_proposer_why_not(user: User, first: Staff, second: Staff) -> None:
    propose(first, user)
    own, others = page_of(client_of(first), user), page_of(client_of(second), user)
    for page in (own, others):
        assert "Proposed: Pending compliance → Active" in page
        assert "Passport seen." in page
        assert 'data-dialog="decide-active"' not in page
        assert 'data-dialog="decide-rejected"' in page
    assert "You proposed this: another account approves it." in own
    assert "Approve the proposal" not in own
    assert "Approve the proposal" in others


def test_a_second_person_approves(user: User, first: Staff, second: Staff) -> None:
    proposal = propose(first, user)
    client = client_of(second)
    url = reverse("backoffice_approve_proposal", args=(user.pk,))
    assert hidden_version(page_of(client, user), url) == version_of(user)
    status, _page = act(client, proposal, "approve", version="of before")
    assert status == 409
    status, page = act(client, proposal, "approve")
    assert (status, "ada is now: Active." in page) == (200, True)
    change = StatusChange.objects.get(user=user)
    assert (change.by, change.proposal) == (second, proposal)
    # Both in the case's timeline and in the list of decisions.
    proposed = f"proposed by {first.username}"
    assert f"{second.username}; {proposed}" in page
    decisions = client.get(reverse("admin:users_statuschange_changelist")).content.decode()
    assert f'{second.username} <span class="bo-quiet bo-below-name">{proposed}</span>' in decisions


def test_the_approval_shows_what_was_proposed_and_what_is_new_and_takes_a_note(
    user: User, first: Staff, second: Staff, create_user: Callable[..., Response]
) -> None:
    proposal = propose(first, user)
    client = client_of(second)

    def dialog() -> str:
        shown = page_of(client, user).partition('<dialog class="case-dialog" id="approve-proposal"')[2]
        return unescape(re.sub(r"\s+", " ", shown.partition("</dialog>")[0]))

    for said in ("Pending compliance → Active: ", f"Proposed by {first.username}", "Passport seen.", "(optional)"):
        assert said in dialog()
    for news in ("New risk flag", "new note"):
        assert news not in dialog()
    add_note(user=user, text="Called the person.", by=first)
    create_user(externalId="twin")
    assert "New risk flag: Same email address" in dialog()
    assert "1 new note on the case" in dialog()

    status, page = act(client, proposal, "approve", note="x" * 2001)
    assert (status, 'id="approve-proposal" aria-labelledby="approve-proposal-title" open' in page) == (422, True)
    status, page = act(client, proposal, "approve", note="Compared with the photo.")
    assert (status, "Compared with the photo." in page.partition('class="case-timeline"')[2]) == (200, True)
    assert user.case_notes.get(text="Compared with the photo.").staff == second


def test_the_proposer_cannot_approve_by_the_address_either(user: User, first: Staff) -> None:
    status, page = act(client_of(first), propose(first, user), "approve")
    assert (status, "another account approves it" in page) == (409, True)
    user.refresh_from_db()
    assert user.status == "pendingCompliance"


def test_declining_needs_a_note(user: User, first: Staff, second: Staff) -> None:
    proposal = propose(first, user)
    status, page = act(client_of(second), proposal, "decline", note=" ")
    assert (status, "A note is required." in page) == (422, True)
    status, page = act(client_of(second), proposal, "decline", note="The photo is of somebody else.")
    assert "The proposal is declined." in page
    proposal.refresh_from_db()
    assert (proposal.state, proposal.ended_by) == ("declined", second)
    shown = page_of(client_of(first), user)
    assert "Propose approval" in shown
    # In the timeline, for whoever looks at the case later.
    timeline = shown.partition('class="case-timeline"')[2]
    for text in ("Proposed: Pending compliance → Active", "Proposal declined", "The photo is of somebody else."):
        assert text in timeline


def test_the_next_case_is_not_one_that_waits_for_a_second_person(
    user: User, first: Staff, second: Staff, create_user: Callable[..., Response]
) -> None:
    propose(first, user)
    other = create_user(externalId="grace").json()["userId"]
    for staff in (first, second):
        response = client_of(staff).post(reverse("backoffice_next"))
        expected = case_of(User.objects.get(pk=other)) if staff == first else reverse("admin:users_user_queue")
        assert response["Location"] == expected
    User.objects.filter(pk=user.pk).update(city="Ottawa")
    assert client_of(second).post(reverse("backoffice_next"))["Location"] == case_of(user)


def test_the_queue_has_a_tab_of_what_waits_for_a_second_person(user: User, first: Staff) -> None:
    propose(first, user)
    client = client_of(first)
    page = client.get(reverse("admin:users_user_queue")).content.decode()
    assert re.search(r'href="/admin/users/proposal/"[^>]*>For a second person <span class="bo-badge">1</span>', page)
    listed = client.get("/admin/users/proposal/").content.decode()
    assert re.search(r'href="/admin/users/user/queue/">Queue <span class="bo-badge">1</span>', listed)
    assert 'href="/admin/users/proposal/" aria-current="page">For a second person' in listed
    assert f"ada · {user.partner.name}</span>" in listed


def test_a_change_between_page_and_click_is_shown(user: User, first: Staff, second: Staff, api: PartnerClient) -> None:
    proposal = propose(first, user)
    client = client_of(second)
    page_of(client, user)
    assert api.patch("/v1/users/ada", {"city": "Ottawa"}).status == 200
    status, page = act(client, proposal, "approve")
    assert status == 409
    assert "This proposal has ended: Overtaken by a change." in page
    assert "Overtaken by a change" in page
    assert re.search(r"<ins>Ottawa</ins>", page)
    assert "Propose approval" in page


def test_the_list_has_what_waits_and_the_sidebar_counts_it(user: User, first: Staff, second: Staff) -> None:
    assert "Nothing waits for a second person" in client_of(second).get(WAITING).content.decode()
    propose(first, user)
    page = client_of(second).get(WAITING).content.decode()
    assert user.full_name in page
    assert first.username in page
    User.objects.filter(pk=user.pk).update(city="Ottawa")
    assert user.full_name not in client_of(second).get(WAITING).content.decode()


def test_several_are_approved_where_each_was_opened(
    first: Staff, second: Staff, create_user: Callable[..., Response]
) -> None:
    users = [User.objects.get(pk=create_user(externalId=name).json()["userId"]) for name in ("ada", "grace")]
    waiting = [propose(first, user) for user in users]
    client = client_of(second)
    page_of(client, users[0])
    data = {"action": "approve_selected", "_selected_action": [str(proposal.pk) for proposal in waiting]}
    page = client.post(WAITING, data, follow=True).content.decode()
    assert "1 proposal is approved." in page
    assert "grace: Open the case first" in page
    assert list(User.objects.order_by("external_id").values_list("status", flat=True)) == [
        "active",
        "pendingCompliance",
    ]
