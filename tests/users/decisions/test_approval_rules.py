"""Decisions of two people: docs/operations.md. The database holds what the services refuse with a text."""

import uuid
from typing import Any

import pytest
from django.contrib.auth.models import Group
from django.db import DatabaseError, connections, transaction

from core.models import AuditEntry
from core.refusals import RefusedError
from partners.models import Mode, Partner
from partners.monitoring import health
from staff.models import Staff
from tests import factories
from tests.support.approval_rules import act, new_user, reviewer, rule, set_rule, superuser
from tests.support.at_once import tried_at_once
from tests.support.commands import outcome, printed, refusal
from tests.support.database import undone
from users.decisions import compliance, metrics, proposals
from users.decisions.proposals import pair_of
from users.models import Proposal, ProposalState, StatusChange, User
from users.refusals import ReasonMissingError

APPROVED: dict[str, Any] = {"reason": "Papers seen."}


pytestmark = pytest.mark.usefixtures("always_by_two")


def decide(user: User, by: Staff, to_status: str = "active") -> StatusChange:
    return compliance.decide(compliance.Decision(user=user, to_status=to_status, by=by, **APPROVED))


def propose(user: User, by: Staff, to_status: str = "active") -> Proposal:
    return proposals.propose(compliance.Decision(user=user, to_status=to_status, by=by, **APPROVED))


def test_two_people_let_a_user_through(user: User, first: Staff, second: Staff) -> None:
    proposal = propose(user, first)
    change = proposals.approve(proposal_id=proposal.pk, by=second)
    user.refresh_from_db()
    proposal.refresh_from_db()
    assert (user.status, change.by, change.proposal) == ("active", second, proposal)
    assert (change.reason, proposal.state, proposal.ended_by) == ("Papers seen.", "approved", second)
    assert proposal.ended_at is not None


def test_a_changed_user_who_was_rejected_before_is_proposed_with_a_note(user: User, first: Staff) -> None:
    factories.reopen(user)
    User.objects.filter(pk=user.pk).update(city="Ottawa")
    standard: Any = {"reason": "Identity and address verified", "reason_code": "verified"}
    with pytest.raises(ReasonMissingError, match="add a note that says why"):
        proposals.propose(compliance.Decision(user=user, to_status="active", by=first, **standard))
    assert proposals.propose(compliance.Decision(user=user, to_status="active", by=first, **APPROVED)).is_open


def test_one_person_is_told_how(user: User, first: Staff) -> None:
    with pytest.raises(RefusedError, match=r"takes two people: .*propose_user_status.*no open proposal"):
        decide(user, first)
    proposal = propose(user, first)
    with pytest.raises(RefusedError, match=f"Open proposal: {proposal.pk}"):
        decide(user, first)


def test_stopping_takes_one(user: User, first: Staff) -> None:
    assert decide(user, first, "rejected").proposal is None


CONDITIONS: dict[str, list[tuple[dict[str, Any], bool]]] = {
    "never": [({"is_ciro_affiliate": True, "country": "FR"}, False)],
    "ciroAffiliate": [({"is_ciro_affiliate": True}, True), ({"is_ciro_affiliate": False}, False)],
    "countryNotCanada": [({"country": "FR"}, True), ({"country": "CA"}, False)],
    "always": [({}, True)],
}


def test_a_condition_says_of_which_users(partner: Partner, first: Staff, subtests: pytest.Subtests) -> None:
    for condition, users in CONDITIONS.items():
        with rule(condition):
            for fields, takes_two in users:
                user = new_user(partner, **fields)
                allowed, refused = (propose, decide) if takes_two else (decide, propose)
                with subtests.test(f"{condition}: {fields}"):
                    with pytest.raises(RefusedError, match=f"takes {'two people' if takes_two else 'one person'}"):
                        refused(user, first)
                    allowed(user, first)


def test_users_of_a_sandbox_have_no_rules(first: Staff) -> None:
    user = new_user(factories.PartnerFactory.create(slug=f"two-{uuid.uuid4()}", mode=Mode.SANDBOX))
    with pytest.raises(RefusedError, match="takes one person"):
        propose(user, first)
    decide(user, first)


def test_a_user_has_one_open_proposal(user: User, first: Staff, second: Staff) -> None:
    propose(user, first)
    with pytest.raises(RefusedError, match=f"{first.username} has proposed this already"):
        propose(user, second)


def test_the_proposer_declines_but_does_not_approve(user: User, first: Staff, second: Staff) -> None:
    proposal = propose(user, first)
    with pytest.raises(RefusedError, match="another account approves"):
        proposals.approve(proposal_id=proposal.pk, by=first)
    with pytest.raises(RefusedError, match="A note is required"):
        proposals.decline(proposal_id=proposal.pk, by=first, note=" ")
    with pytest.raises(RefusedError, match="The note must be at most 500 characters"):
        proposals.decline(proposal_id=proposal.pk, by=first, note="x" * 501)
    declined = proposals.decline(proposal_id=proposal.pk, by=first, note="The wrong user.")
    assert (declined.state, declined.ended_by, declined.note) == ("declined", first, "The wrong user.")
    with pytest.raises(RefusedError, match="has ended: Declined"):
        proposals.approve(proposal_id=proposal.pk, by=second)
    assert propose(user, second).state == ProposalState.OPEN


def test_a_change_of_the_user_overtakes_it(user: User, first: Staff, second: Staff) -> None:
    proposal = propose(user, first)
    User.objects.filter(pk=user.pk).update(city="Ottawa")
    user.refresh_from_db()
    present = proposals.current(user)
    assert present is not None
    assert (present.present_state, present.present_end) == (ProposalState.OVERTAKEN, user.updated_at)
    with pytest.raises(RefusedError, match="has ended: Overtaken by a change"):
        proposals.approve(proposal_id=proposal.pk, by=second)
    propose(user, second)
    ended = Proposal.objects.with_states().get(pk=proposal.pk)
    assert (ended.present_state, ended.ended_by) == ("overtaken", None)


def test_it_expires(committed_partner: Partner) -> None:
    user, first, second = new_user(committed_partner), reviewer(), reviewer()
    proposal = propose(user, first)
    make_older(proposal, hours=72)
    present = proposals.current(user)
    assert present is not None
    assert (present.present_state, present.present_end) == (ProposalState.EXPIRED, present.expires_at)
    with pytest.raises(RefusedError, match="has ended: Expired"):
        proposals.approve(proposal_id=proposal.pk, by=second)
    assert TAKES_TWO in decide_in_sql(user, second, proposal)
    propose(user, second)
    ended = Proposal.objects.with_states().get(pk=proposal.pk)
    assert (ended.present_state, ended.ended_by) == ("expired", None)


TAKES_TWO = "This move takes two people"


def make_older(proposal: Proposal, *, hours: int) -> None:
    with superuser() as database:
        database.execute(
            f"UPDATE users_proposal SET created_at = created_at - interval '{hours} hours' WHERE id = %s",
            (proposal.pk,),
        )


# --- Accounts that may not decide together ---

ACTS = [
    *("staff.created", "staff.invited", "staff.passwordChanged", "staff.factorReset"),
    *("staffRole.created", "staffRole.changed", "staffRole.removed"),
]


def test_who_made_or_reset_the_other_is_no_second_person(user: User, first: Staff, second: Staff) -> None:
    related = {}
    for action in ACTS:
        for by_proposer in (True, False):
            related[action, by_proposer] = other = reviewer()
            act(*((first, action, other) if by_proposer else (other, action, first)))
    allowed = [how for how, other in related.items() if "may not decide together" not in pair_of(first, other)[0]]
    assert allowed == []
    proposal = propose(user, first)
    with pytest.raises(RefusedError, match="may not decide together"):
        proposals.approve(proposal_id=proposal.pk, by=other)
    assert proposals.approve(proposal_id=proposal.pk, by=second).to_status == "active"


def test_after_a_month_they_may(user: User, first: Staff, second: Staff) -> None:
    act(first, "staff.created", second, days=31)
    act(first, "staff.created", reviewer())
    act(first, "staff.disabled", second)
    assert proposals.approve(proposal_id=propose(user, first).pk, by=second).to_status == "active"


def test_a_superuser_is_no_exception(user: User, first: Staff) -> None:
    Staff.objects.filter(pk=first.pk).update(is_superuser=True)
    root = Staff.objects.get(pk=first.pk)
    proposal = propose(user, root)
    with pytest.raises(RefusedError, match="another account approves"):
        proposals.approve(proposal_id=proposal.pk, by=root)
    with pytest.raises(RefusedError, match=TAKES_TWO):
        decide(user, root)


# --- The serving role in SQL ---

DECIDE = """
    INSERT INTO users_statuschange (user_id, from_status, to_status, by_id, reason, proposal_id)
    SELECT id, status, 'active', %(by)s, 'As ever.', %(proposal)s FROM users_user WHERE id = %(user)s
"""


def refused_in_sql(statement: str, **values: Any) -> str:
    with pytest.raises(DatabaseError) as refused, transaction.atomic(), connections["default"].cursor() as cursor:
        cursor.execute(statement, values)
    return str(refused.value)


def decide_in_sql(user: User, by: Staff, proposal: Proposal | None) -> str:
    """The refusal of a decision by the serving role."""
    text = refused_in_sql(DECIDE, user=user.pk, by=by.pk, proposal=proposal and proposal.pk)
    assert User.objects.get(pk=user.pk).status == "pendingCompliance"
    return text


Made = tuple[Proposal | None, Staff]


def none(user: User, first: Staff, second: Staff) -> Made:
    return None, second


def own(user: User, first: Staff, second: Staff) -> Made:
    return propose(user, second), second


def declined(user: User, first: Staff, second: Staff) -> Made:
    return proposals.decline(proposal_id=propose(user, first).pk, by=second, note="No."), second


def overtaken(user: User, first: Staff, second: Staff) -> Made:
    proposal = propose(user, first)
    User.objects.filter(pk=user.pk).update(city="Ottawa")
    return proposal, second


def of_another_user(user: User, first: Staff, second: Staff) -> Made:
    return propose(new_user(user.partner), first), second


def of_another_move(user: User, first: Staff, second: Staff) -> Made:
    set_rule("always", start="rejected", end="pendingCompliance")
    decide(user, first, "rejected")
    proposal = propose(user, first, "pendingCompliance")
    set_rule("never", start="rejected", end="pendingCompliance")
    decide(user, first, "pendingCompliance")
    return proposal, second


def of_a_disabled_account(user: User, first: Staff, second: Staff) -> Made:
    proposal = propose(user, first)
    Staff.objects.filter(pk=first.pk).update(is_active=False)
    return proposal, second


def by_an_account_made_by_the_other(user: User, first: Staff, second: Staff) -> Made:
    made = reviewer()
    act(first, "staff.created", made)
    return propose(user, first), made


def by_an_account_with_a_role_of_the_other(user: User, first: Staff, second: Staff) -> Made:
    made = reviewer()
    act(made, "staffRole.created", first)
    return propose(user, first), made


def by_an_account_reset_by_the_other(user: User, first: Staff, second: Staff) -> Made:
    made = reviewer()
    act(made, "staff.factorReset", first)
    return propose(user, first), made


def by_an_account_made_through_others(user: User, first: Staff, second: Staff) -> Made:
    one, other, made = reviewer(), reviewer(), reviewer()
    act(first, "staff.created", one, days=29)
    act(one, "staffRole.created", other)
    act(other, "staff.passwordChanged", made)
    return propose(user, first), made


def by_an_account_made_a_superuser_by_the_other(user: User, first: Staff, second: Staff) -> Made:
    made = reviewer()
    act(first, "staff.changed", made, detail='{"changes": {"is_superuser": [false, true]}}')
    return propose(user, first), made


def by_an_account_whose_role_was_taken(user: User, first: Staff, second: Staff) -> Made:
    proposal = propose(user, first)
    first.groups.clear()
    return proposal, second


def for_a_viewer(user: User, first: Staff, second: Staff) -> Made:
    second.groups.set(Group.objects.filter(name="viewer"))
    return propose(user, first), second


def for_an_auditor(user: User, first: Staff, second: Staff) -> Made:
    second.groups.set(Group.objects.filter(name="auditor"))
    return propose(user, first), second


def for_an_account_without_a_role(user: User, first: Staff, second: Staff) -> Made:
    second.groups.clear()
    return propose(user, first), second


def with_another_reason(user: User, first: Staff, second: Staff) -> Made:
    return propose(user, first), second


def test_no_statement_of_the_serving_role_moves_a_user_without_two_people(
    user: User, first: Staff, second: Staff, subtests: pytest.Subtests
) -> None:
    for make in (
        *(none, own, of_another_user, of_another_move, declined, overtaken, of_a_disabled_account),
        *(by_an_account_made_by_the_other, by_an_account_with_a_role_of_the_other, by_an_account_reset_by_the_other),
        *(by_an_account_made_through_others, by_an_account_made_a_superuser_by_the_other),
        *(by_an_account_whose_role_was_taken, for_a_viewer, for_an_auditor, for_an_account_without_a_role),
        with_another_reason,
    ):
        with subtests.test(make.__name__), undone():
            proposal, by = make(user, first, second)
            assert TAKES_TWO in decide_in_sql(user, by, proposal)


def test_a_condition_cannot_be_switched_off(partner: Partner, first: Staff, second: Staff) -> None:
    """By changing the field, in one transaction with the decision too."""
    with rule("ciroAffiliate", "countryNotCanada"):
        for before, after in (
            ({"is_ciro_affiliate": True}, {"is_ciro_affiliate": False}),
            ({"country": "FR"}, {"country": "CA"}),
        ):
            user = new_user(partner, **before)
            User.objects.filter(pk=user.pk).update(**after)
            assert TAKES_TWO in decide_in_sql(user, second, None)
            user = new_user(partner)
            User.objects.filter(pk=user.pk).update(**before)
            User.objects.filter(pk=user.pk).update(**after)
            with pytest.raises(RefusedError, match=TAKES_TWO):
                decide(user, first)
            # A decision begins anew: what was so before it does not count.
            decide(user, first, "rejected")
            decide(user, first, "pendingCompliance")
            assert decide(user, first).proposal is None


STATEMENTS = [
    "UPDATE users_user SET status = 'active' WHERE id = %(user)s",
    "UPDATE users_proposal SET state = 'approved', ended_by_id = %(by)s WHERE id = %(proposal)s",
    "UPDATE users_proposal SET state = 'expired' WHERE id = %(proposal)s",
    "UPDATE users_proposal SET state = 'overtaken' WHERE id = %(proposal)s",
    "UPDATE users_proposal SET state = 'declined', ended_by_id = %(by)s WHERE id = %(proposal)s",
    "UPDATE users_proposal SET by_id = %(by)s WHERE id = %(proposal)s",
    "UPDATE users_proposal SET reason = 'x' WHERE id = %(proposal)s",
    "UPDATE users_proposal SET reason_code = 'other' WHERE id = %(proposal)s",
    "UPDATE users_proposal SET state = 'declined', note = 'No.' WHERE id = %(proposal)s",
    (
        "UPDATE users_proposal SET state = 'declined', note = 'No.', ended_by_id = ("
        "SELECT id FROM staff_staff WHERE NOT staff_may_decide(id) LIMIT 1) WHERE id = %(proposal)s"
    ),
    "UPDATE users_proposal SET created_at = now() WHERE id = %(proposal)s",
    "DELETE FROM users_proposal WHERE id = %(proposal)s",
    "TRUNCATE users_proposal CASCADE",
    (
        "INSERT INTO users_approvalrule (from_status, to_status, condition)"
        " VALUES ('pendingCompliance', 'active', 'never')"
    ),
    "UPDATE users_approvalrule SET condition = 'never'",
    "DELETE FROM users_approvalrule",
    (
        "INSERT INTO users_proposal (id, user_id, from_status, to_status, by_id, reason, state, ended_by_id)"
        " SELECT gen_random_uuid(), %(user)s, status, 'active', %(by)s, 'x', 'approved', %(by)s FROM users_user"
        " WHERE id = %(user)s"
    ),
]


def test_the_serving_role_cannot_get_around_it(
    user: User, first: Staff, second: Staff, subtests: pytest.Subtests
) -> None:
    proposal = propose(user, first)
    for statement in STATEMENTS:
        with subtests.test(statement):
            refused_in_sql(statement, user=user.pk, by=second.pk, proposal=proposal.pk)
    assert proposals.approve(proposal_id=proposal.pk, by=second).to_status == "active"


def test_an_ended_proposal_does_not_open_again(user: User, first: Staff, second: Staff) -> None:
    proposal = proposals.decline(proposal_id=propose(user, first).pk, by=second, note="No.")
    refused_in_sql(
        "UPDATE users_proposal SET state = 'open', ended_by_id = NULL WHERE id = %(proposal)s", proposal=proposal.pk
    )


def test_of_two_approvals_at_once_one_succeeds(committed_partner: Partner) -> None:
    user = new_user(committed_partner)
    proposal = propose(user, reviewer())
    people = [reviewer(), reviewer()]
    got = tried_at_once(*(lambda by=by: proposals.approve(proposal_id=proposal.pk, by=by) for by in people))
    assert sum(isinstance(one, RefusedError) for one in got) == 1
    assert StatusChange.objects.filter(user=user).count() == 1


def test_metrics_tell_what_waits(committed_partner: Partner) -> None:
    def value(name: str) -> float:
        with health.connect() as session:
            return next(metric.samples[0].value for metric in metrics.proposals(session) if metric.name == name)

    before = value("psi_proposals_waiting")
    user = new_user(committed_partner)
    proposal = propose(user, reviewer())
    make_older(proposal, hours=50)
    assert value("psi_proposals_waiting") == before + 1
    assert value("psi_proposal_oldest_seconds") >= 50 * 3600
    User.objects.filter(pk=user.pk).update(city="Ottawa")
    assert value("psi_proposals_waiting") == before


# --- Commands ---


def test_the_commands_of_ops(user: User, first: Staff, second: Staff) -> None:
    slug, external_id = user.partner.slug, user.external_id
    assert {"from": "pendingCompliance", "to": "active", "condition": "always"}.items() <= next(
        rule for rule in outcome("list_approval_rules")["rules"] if rule["from"] == "pendingCompliance"
    ).items()
    assert "propose_user_status" in refusal(
        "change_user_status", slug, external_id, "active", "--reason", "x", "--by", first.username
    )
    proposed = outcome("propose_user_status", slug, external_id, "active", "--reason", "Seen.", "--by", first.username)
    [listed] = outcome("list_proposals", slug)["proposals"]
    assert listed["proposalId"] == proposed["proposalId"]
    assert (listed["state"], listed["endedBy"], listed["endedAt"]) == ("open", None, None)
    assert listed["expiresAt"] == proposed["expiresAt"]
    assert "another account" in refusal("approve_proposal", proposed["proposalId"], "--by", first.username)
    approved = outcome("approve_proposal", proposed["proposalId"], "--by", second.username, "--note", "Seen too.")
    assert user.case_notes.get().text == "Seen too."
    assert approved == {"status": "active", "state": "approved"}
    assert outcome("list_proposals", slug)["proposals"] == []
    [ended] = outcome("list_proposals", slug, "--all")["proposals"]
    assert (ended["state"], ended["endedBy"]) == ("approved", second.username)
    assert "has ended" in refusal("decline_proposal", proposed["proposalId"], "--by", first.username, "--note", "x")
    assert "not found" in refusal("approve_proposal", str(uuid.uuid4()), "--by", first.username)


def test_rules_are_for_moves_that_let_through(db: None) -> None:
    refusals = {
        ("active", "suspended", "always"): "takes one person",
        ("pendingCompliance", "active", "always", "sometimes"): "Unknown condition sometimes",
        ("pendingCompliance", "active", "never", "always"): "stands alone",
    }
    for arguments, text in refusals.items():
        assert text in refusal("set_approval_rule", *arguments)


def test_setting_a_rule_is_recorded(committed_partner: Partner, monkeypatch: pytest.MonkeyPatch) -> None:
    # A rule needs two accounts.
    reviewer(), reviewer()
    monkeypatch.setenv("SUDO_USER", "olivia")
    rule = ("set_approval_rule", "suspended", "active")
    assert outcome(*rule, "always")["conditions"] == ["always"]
    newest = AuditEntry.objects.filter(action="approvalRule.set").latest("id")
    dry = outcome(*rule, "ciroAffiliate", "countryNotCanada", "--dry-run")
    assert (dry["replaced"], dry["dryRun"]) == (["always"], True)
    assert AuditEntry.objects.filter(action="approvalRule.set").latest("id") == newest
    assert outcome(*rule, "ciroAffiliate", "countryNotCanada")["replaced"] == ["always"]
    entry = AuditEntry.objects.filter(action="approvalRule.set").latest("id")
    assert (entry.actor, entry.object) == ("olivia", "suspended → active")
    assert entry.detail["changes"]["condition"] == ["always", "ciroAffiliate, countryNotCanada"]
    listed = outcome("list_approval_rules")["rules"]
    assert [one["condition"] for one in listed if one["from"] == "suspended"] == ["ciroAffiliate", "countryNotCanada"]
    assert {one["from"] for one in listed} == {"pendingCompliance", "suspended", "rejected"}
    assert "Before: ciroAffiliate, countryNotCanada." in printed(*rule, "never")


def test_several_conditions_hold_side_by_side(committed_partner: Partner) -> None:
    first, _second = reviewer(), reviewer()
    conditions = ("ciroAffiliate", "countryNotCanada")
    rehearsed = ("set_approval_rule", "pendingCompliance", "active", *conditions, "--dry-run")
    before = outcome(*rehearsed)
    affiliate = new_user(committed_partner, is_ciro_affiliate=True)
    abroad = new_user(committed_partner, country="FR")
    plain = new_user(committed_partner)
    assert outcome(*rehearsed)["concerned"] == before["concerned"] + 2
    with rule(*conditions):
        for user in (affiliate, abroad):
            assert propose(user, first).state == ProposalState.OPEN
        assert decide(plain, first).proposal is None


def test_a_rule_needs_two_accounts_that_may_decide(committed_partner: Partner) -> None:
    first = reviewer()
    others = Staff.objects.exclude(pk=first.pk)
    active = list(others.filter(is_active=True).values_list("pk", flat=True))
    others.update(is_active=False)
    try:
        assert f"there is {first.username}" in refusal("set_approval_rule", "suspended", "active", "always")
        assert outcome("set_approval_rule", "suspended", "active", "never")["conditions"] == ["never"]
    finally:
        Staff.objects.filter(pk__in=active).update(is_active=True)


def test_both_people_are_in_the_audit_log(user: User, first: Staff, second: Staff) -> None:
    proposal = propose(user, first)
    proposals.approve(proposal_id=proposal.pk, by=second)
    entries = AuditEntry.objects.filter(object=str(user.pk)).order_by("id").values_list("action", "actor")
    assert list(entries) == [("user.proposed", first.username), ("user.decided", second.username)]
