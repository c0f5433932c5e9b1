"""Decisions of two people in the back office: docs/operations.md, "Decisions of two people"."""

import re
from collections.abc import Iterator
from html import unescape
from typing import Any

import pytest
from django.contrib.messages import get_messages
from django.test import Client, RequestFactory
from django.urls import reverse
from pytest_django import Settings

from core.formats import parse_timestamp
from partners.models import Partner
from staff.models import Staff
from tests import factories
from tests.backoffice.exports.test_exports import pack
from tests.support.approval_rules import no_rules_left, reviewer, set_rule
from tests.support.staff import called, client_as, client_of, hidden_version, sent_by
from tests.users.deciding import decide_url, decision, match, page_of, version_of
from users import claims
from users.decisions import proposals
from users.decisions.compliance import Decision, add_note
from users.decisions.reasons import Reason
from users.models import Proposal, StatusChange, User

WAITING = reverse("admin:users_proposal_changelist")


@pytest.fixture(scope="module", autouse=True)
def always(django_db_setup: None) -> Iterator[None]:
    with no_rules_left():
        set_rule("always")
        yield


@pytest.fixture
def user(partner: Partner) -> User:
    made: User = factories.UserFactory.create(partner=partner, external_id="ada")
    return made


@pytest.fixture
def first(db: None) -> Staff:
    return reviewer()


@pytest.fixture
def second(db: None) -> Staff:
    return reviewer()


def propose(staff: Staff, user: User, reason: str = "Passport seen.") -> Proposal:
    made: dict[str, Any] = {"reason": reason, "reason_code": "verified"}
    return proposals.propose(Decision(user=user, to_status="active", by=staff, **made))


def act(client: Client, proposal: Proposal, name: str, **fields: str) -> tuple[int, str]:
    url = reverse(f"backoffice_{name}_proposal", args=(proposal.user_id,))
    sent = {"proposal": str(proposal.pk), "version": version_of(User.objects.get(pk=proposal.user_id))} | fields
    response = client.post(url, sent, follow=True)
    return response.status_code, response.content.decode()


def shows_the_proposal(page: str) -> bool:
    shown = ("Proposed: Pending compliance → Active", "Passport seen.", 'data-dialog="decide-rejected"')
    return all(one in page for one in shown) and 'data-dialog="decide-active"' not in page


def test_the_dialog_proposes_where_a_rule_applies_and_the_proposer_does_not_approve(user: User, first: Staff) -> None:
    client = client_of(first)
    page = page_of(client, user)
    assert "Propose approval" in page
    assert "Another person approves or declines it" in page
    client.post(decide_url(user), decision(user, note="Passport seen."))
    proposal = Proposal.objects.get(user=user, state="open")
    assert (proposal.by, proposal.reason) == (first, "Passport seen.")
    status, page = act(client, proposal, "approve")
    assert status == 409
    assert shows_the_proposal(page)
    # Why it was refused, and beside the proposal why there is no button.
    assert page.count("You proposed this: another account approves it.") == 2
    assert "Approve the proposal" not in page
    user.refresh_from_db()
    assert user.status == "pendingCompliance"
    assert not StatusChange.objects.exists()


def test_a_second_person_sees_what_was_proposed_and_what_is_new_and_approves(
    user: User, first: Staff, second: Staff
) -> None:
    proposal = propose(first, user)
    client = client_of(second)

    def dialog(page: str) -> str:
        shown = page.partition('<dialog class="case-dialog" id="approve-proposal"')[2]
        return unescape(re.sub(r"\s+", " ", shown.partition("</dialog>")[0]))

    page = page_of(client, user)
    assert shows_the_proposal(page)
    assert "Approve the proposal" in page
    assert hidden_version(page, reverse("backoffice_approve_proposal", args=(user.pk,))) == version_of(user)
    for said in ("Pending compliance → Active: ", f"Proposed by {first.username}", "Passport seen.", "(optional)"):
        assert said in dialog(page)
    for news in ("New risk flag", "new note"):
        assert news not in dialog(page)

    add_note(user=user, text="Called the person.", by=first)
    factories.UserFactory.create(email=user.email)
    status, page = act(client, proposal, "approve", version="of before")
    assert status == 409
    assert "New risk flag: Same email address" in dialog(page)
    assert "1 new note on the case" in dialog(page)
    status, page = act(client, proposal, "approve", note="x" * 2001)
    assert (status, 'id="approve-proposal" aria-labelledby="approve-proposal-title" open' in page) == (422, True)

    status, page = act(client, proposal, "approve", note="Compared with the photo.")
    assert (status, "ada is now: Active." in page) == (200, True)
    change = StatusChange.objects.get(user=user)
    assert (change.by, change.proposal) == (second, proposal)
    assert user.case_notes.get(text="Compared with the photo.").staff == second
    # Both in the case's timeline and in the list of decisions.
    timeline, proposed = page.partition('class="case-timeline"')[2], f"proposed by {first.username}"
    assert "Compared with the photo." in timeline
    assert f"{second.username}; {proposed}" in timeline
    decisions = client.get(reverse("admin:users_statuschange_changelist")).content.decode()
    assert f'{second.username} <span class="bo-quiet bo-below-name">{proposed}</span>' in decisions


def test_declining_needs_a_note(user: User, first: Staff, second: Staff) -> None:
    proposal = propose(first, user)
    client = client_of(second)
    status, page = act(client, proposal, "decline", note=" ")
    assert (status, "A note is required." in page) == (422, True)
    status, page = act(client, proposal, "decline", note="The photo is of somebody else.")
    assert "The proposal is declined." in page
    proposal.refresh_from_db()
    assert (proposal.state, proposal.ended_by) == ("declined", second)
    assert "Propose approval" in page
    timeline = page.partition('class="case-timeline"')[2]
    for text in ("Proposed: Pending compliance → Active", "Proposal declined", "The photo is of somebody else."):
        assert text in timeline


def test_the_evidence_pack_has_proposals_that_were_declined_overtaken_and_approved(
    user: User, first: Staff, second: Staff
) -> None:
    note = "The photo is of somebody else."
    declined = proposals.decline(proposal_id=propose(first, user).pk, by=second, note=note)
    propose(first, user)
    User.objects.filter(pk=user.pk).update(city="Ottawa")
    changed_at = User.objects.get(pk=user.pk).updated_at
    proposals.approve(proposal_id=propose(first, user).pk, by=second)
    data, page = pack(client_as("auditor"), user)
    proposed = {"by": first.username, "from": "pendingCompliance", "to": "active"}
    proposed |= {"reasonCode": "verified", "reason": "Passport seen."}
    assert [one | proposed == one for one in data["proposals"]] == [True] * 3
    ends = [(one["state"], one["endedBy"], one["note"], parse_timestamp(one["endedAt"])) for one in data["proposals"]]
    assert ends == [
        ("declined", second.username, note, declined.ended_at),
        ("overtaken", None, "", changed_at),
        ("approved", second.username, "", user.proposals.latest("created_at").ended_at),
    ]
    section = page.partition('id="proposals"')[2].partition("</section>")[0]
    for words in ("Passport seen.", "Declined", note, "<dt>Ended by</dt>", "Overtaken by a change"):
        assert words in section


def test_the_next_case_is_not_one_that_waits_for_a_second_person(user: User, first: Staff, second: Staff) -> None:
    propose(first, user)
    other = factories.UserFactory.create(partner=user.partner)
    assert [claims.next_case(staff=staff) for staff in (first, second)] == [other, None]
    User.objects.filter(pk=user.pk).update(city="Ottawa")
    assert claims.next_case(staff=second) == user


def test_the_queue_has_a_tab_of_what_waits_for_a_second_person(user: User, first: Staff, second: Staff) -> None:
    propose(first, user)
    client = client_of(second)
    page = client.get(reverse("admin:users_user_queue")).content.decode()
    assert re.search(r'href="/admin/users/proposal/"[^>]*>For a second person <span class="bo-badge">1</span>', page)
    listed = client.get(WAITING).content.decode()
    assert re.search(r'href="/admin/users/user/queue/">Queue <span class="bo-badge">1</span>', listed)
    assert 'href="/admin/users/proposal/" aria-current="page">For a second person' in listed
    for said in (user.full_name, f"ada · {user.partner.name}</span>", first.username, "Passport seen."):
        assert said in listed
    User.objects.filter(pk=user.pk).update(city="Ottawa")
    listed = client.get(WAITING).content.decode()
    assert "Nothing waits for a second person" in listed
    assert user.full_name not in listed


def test_a_change_since_the_proposal_is_shown(user: User, first: Staff, second: Staff) -> None:
    proposal = propose(first, user)
    User.objects.filter(pk=user.pk).update(city="Ottawa")
    status, page = act(client_of(second), proposal, "approve")
    assert status == 409
    assert "This proposal has ended: Overtaken by a change." in page
    assert re.search(r"Proposal Pending compliance → Active:\s+Overtaken by a change", page)
    assert re.search(r"<ins>Ottawa</ins>", page)
    assert "Propose approval" in page


def test_several_are_approved_where_each_was_opened_after_a_fresh_factor(
    first: Staff, second: Staff, rf: RequestFactory, settings: Settings
) -> None:
    users = [factories.UserFactory.create(external_id=name) for name in ("ada", "grace")]
    selected = [str(propose(first, user).pk) for user in users]
    client = client_of(second)
    page_of(client, users[0])
    sent = {"action": "approve_selected", "_selected_action": selected}
    settings.STAFF_MFA_REQUIRED = True
    assert called(sent_by(second, rf.post(WAITING, sent))).headers["Location"].startswith("/admin/account/")
    assert not StatusChange.objects.exists()
    settings.STAFF_MFA_REQUIRED = False
    response = client.post(WAITING, sent)
    said = [str(message) for message in get_messages(response.wsgi_request)]
    assert any("grace: Open the case first" in one for one in said)
    assert "1 proposal is approved." in said
    statuses = User.objects.order_by("external_id").values_list("status", flat=True)
    assert list(statuses) == ["active", "pendingCompliance"]


@pytest.mark.parametrize("reason", ["Passport seen.", Reason.VERIFIED.text()])
def test_a_match_that_came_since_the_proposal_takes_a_note_of_the_second_person(
    user: User, first: Staff, second: Staff, reason: str
) -> None:
    proposal, client = propose(first, user, reason), client_of(second)
    page_of(client, user)
    match(user)
    needed = "Possible match not resolved: add a note that says why."
    response = client.post(WAITING, {"action": "approve_selected", "_selected_action": str(proposal.pk)})
    assert [str(message) for message in get_messages(response.wsgi_request)] == [f"ada: {needed}"]
    status, page = act(client, proposal, "approve")
    dialog = page.partition('id="approve-proposal"')[2].partition("</dialog>")[0]
    assert (status, " open>" in dialog, needed in dialog, "(required)" in dialog) == (422, True, True, True)
    assert not StatusChange.objects.exists()
    act(client, proposal, "approve", note="Another birth date.")
    change = StatusChange.objects.get(user=user)
    assert (change.by, change.reason, user.case_notes.get().text) == (second, reason, "Another birth date.")


def test_a_match_that_the_proposal_was_based_on_takes_no_other_note(user: User, first: Staff, second: Staff) -> None:
    match(user)
    proposal = propose(first, user)
    assert act(client_of(second), proposal, "approve")[0] == 200
    assert StatusChange.objects.get(user=user).by == second
