"""Two people means two people: ties between accounts, accounts that lose their rights, claims and codes by command."""

import uuid
from contextlib import nullcontext
from functools import partial

import pytest
from django.db import OperationalError

from backoffice.exports.evidence_pack import parts
from backoffice.exports.records import decided_on
from core.models import AuditEntry
from core.refusals import RefusedError
from partners.models import Partner
from staff.access import disable
from staff.models import Staff
from tests import factories
from tests.support.approval_rules import act, new_user, reviewer, rule
from tests.support.commands import outcome, refusal
from tests.support.database import undone
from tests.support.staff import client_of
from tests.users.deciding import page_of
from users import claims
from users.decisions import proposals
from users.decisions.compliance import Decision, decide
from users.models import AccessKind, AccessRecord, OpenedPage, Proposal, StatusChange, User
from users.refusals import refusal_of

pytestmark = pytest.mark.usefixtures("always_by_two")


def propose(user: User, by: Staff, reason: str = "Papers seen.") -> Proposal:
    return proposals.propose(Decision(user=user, to_status="active", by=by, reason=reason))


def open_case(staff: Staff, user: User) -> None:
    factories.AccessRecordFactory.create(user=user, staff=staff, detail=OpenedPage.CASE)


# --- Whose accounts somebody else made ---


def test_a_common_maker_is_named_wherever_the_decision_is_shown(user: User, first: Staff, second: Staff) -> None:
    maker, between = reviewer(), reviewer()
    act(maker, "staff.created", first)
    act(maker, "staffRole.created", second)
    # What was done to those who did it is no relation.
    act(between, "staff.created", maker)
    act(second, "staff.created", between)
    proposal = propose(user, first)
    told = f"both accounts made, re-roled or reset by {maker.username} within 30 days"
    client = client_of(second)
    assert told in page_of(client, user)
    change = proposals.approve(proposal_id=proposal.pk, by=second)
    change.refresh_from_db()
    assert change.common_maker == maker.username
    assert told in page_of(client, user)
    entry = AuditEntry.objects.filter(object=str(user.pk), action="user.decided").latest("id")
    assert entry.detail["commonMaker"] == maker.username
    [decision] = next(part for part in parts({}) if part.key == "statusChanges").records(user)
    assert decision["commonMaker"] == maker.username


def test_without_one_nothing_is_said(user: User, first: Staff, second: Staff) -> None:
    act(reviewer(), "staff.created", first, days=31)
    change = proposals.approve(proposal_id=propose(user, first).pk, by=second)
    change.refresh_from_db()
    assert change.common_maker == ""
    assert "both accounts" not in page_of(client_of(second), user)


# --- Who may no longer decide ---


def test_disabling_an_account_declines_its_open_proposals(user: User, first: Staff, second: Staff) -> None:
    proposal = propose(user, first)
    assert outcome("disable_staff", first.username, "--reason", "Left the company.")["proposals"] == 1
    proposal.refresh_from_db()
    assert (proposal.state, proposal.note, proposal.ended_by) == ("declined", "Left the company.", None)
    assert "has ended: Declined" in refusal("approve_proposal", str(proposal.pk), "--by", second.username)
    assert "Left the company." in page_of(client_of(second), user)
    assert propose(user, second).state == "open"


def test_an_administrator_who_disables_is_named(user: User, first: Staff) -> None:
    administrator = factories.StaffFactory.create(username=f"a-{uuid.uuid4().hex[:12]}", role="administrator")
    proposal = propose(user, first)
    disable(staff=first, reason="Left.", by=administrator)
    proposal.refresh_from_db()
    assert (proposal.state, proposal.ended_by) == ("declined", administrator)


def test_a_proposer_without_the_right_is_a_refusal_that_says_so(user: User, first: Staff, second: Staff) -> None:
    proposal = propose(user, first)
    first.groups.clear()
    text = refusal("approve_proposal", str(proposal.pk), "--by", second.username)
    assert f"{first.username}, who proposed this, may not decide any more" in text
    assert text.split(":")[0] in page_of(client_of(second), user)


def test_a_proposal_of_a_move_that_takes_one_by_now_is_a_refusal(user: User, first: Staff, second: Staff) -> None:
    proposal = propose(user, first)
    by_now = r"takes one person by now: decline the proposal and decide"
    with rule("never"), pytest.raises(RefusedError, match=by_now):
        proposals.approve(proposal_id=proposal.pk, by=second)


def test_several_approvals_end_each_with_its_own_result(
    partner: Partner, first: Staff, second: Staff, monkeypatch: pytest.MonkeyPatch
) -> None:
    users = [new_user(partner) for _ in range(4)]
    third = reviewer()
    waiting = [propose(user, by) for user, by in zip(users, (first, third, first, first), strict=True)]
    for user in users:
        open_case(second, user)
    third.groups.clear()

    def failing(decision: Decision, **approved: Proposal) -> StatusChange:
        if decision.user == users[2]:
            raise OperationalError
        return decide(decision, **approved)

    monkeypatch.setattr(proposals, "decide", failing)
    refusals = [refusal_of(partial(proposals.approve_opened, one, by=second, source="test")) for one in waiting]
    assert refusals[0] == refusals[3] == ""
    assert "may not decide any more" in refusals[1]
    assert "The database refused this" in refusals[2]


# --- What both saw ---


def test_the_pack_has_what_both_people_saw(user: User, first: Staff, second: Staff) -> None:
    for staff in (first, second):
        open_case(staff, user)
    proposals.approve(proposal_id=propose(user, first).pk, by=second)
    seen = [(record["what"], record["by"], record["openSeconds"] is not None) for record in decided_on(user)]
    assert seen == [("proposal", first.username, True), ("decision", second.username, True)]


# --- By command as in the back office ---


def command_line(command: str, user: User, proposer: Staff) -> tuple[str, ...]:
    """A command about the user's case; what it needs beforehand is by the proposer."""
    case = (user.partner.slug, user.external_id)
    if command in {"change_user_status", "propose_user_status"}:
        return (command, *case, "active", "--reason", "Seen.")
    if command == "approve_proposal":
        return (command, str(propose(user, proposer).pk))
    if command == "request_information":
        return (command, *case, "--code", "purposeOfUse")
    return (command, str(factories.RequirementFactory.create(user=user, by=proposer).pk))


def test_each_command_about_a_case_respects_a_claim_or_takes_it_over(
    user: User, first: Staff, second: Staff, subtests: pytest.Subtests
) -> None:
    for command in (
        *("change_user_status", "propose_user_status", "approve_proposal", "request_information"),
        "close_requirement",
    ):
        with subtests.test(command), undone(), rule("never") if command == "change_user_status" else nullcontext():
            arguments = command_line(command, user, first)
            # Acts of before have ended a claim of before.
            claims.claim(user=user, staff=first)
            assert f"{first.username} has claimed this case" in refusal(*arguments, "--by", second.username)
            outcome(*arguments, "--by", second.username, "--take-over")
            taken = AccessRecord.objects.filter(user=user, kind=AccessKind.CLAIMED).latest("id")
            assert (taken.staff, taken.detail) == (second, f"Taken over from {first.username}.")


def test_a_command_that_is_refused_takes_nothing_over(user: User, first: Staff, second: Staff) -> None:
    claims.claim(user=user, staff=first)
    second.groups.clear()
    refusal(*command_line("propose_user_status", user, first), "--by", second.username, "--take-over")
    assert claims.holder(user) == first
    assert AccessRecord.objects.filter(user=user, kind=AccessKind.CLAIMED).count() == 1


def test_a_reason_code_is_one_of_the_moves(user: User, first: Staff) -> None:
    arguments = (user.partner.slug, user.external_id, "active", "--reason", "x", "--by", first.username)
    for code in ("verifed", ""):
        text = refusal("propose_user_status", *arguments, "--reason-code", code)
        assert "Unknown reason code; one of: verified" in text
