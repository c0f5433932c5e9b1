"""Decisions of two people: docs/operations.md. The database holds what the services refuse with a text."""

import uuid
from collections.abc import Callable, Iterator
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
from tests.support.approval_rules import act, new_user, no_rules_left, reviewer, set_rule, superuser
from tests.support.at_once import tried_at_once
from tests.support.commands import outcome, printed, refusal
from users.decisions import compliance, metrics, proposals
from users.models import Proposal, ProposalState, StatusChange, User
from users.refusals import ReasonMissingError

pytestmark = pytest.mark.usefixtures("committed_partner")
APPROVED: dict[str, Any] = {"reason": "Papers seen."}


@pytest.fixture(autouse=True)
def own_rules(committed_partner: Partner) -> Iterator[None]:
    """Each test begins and ends without a rule."""
    with no_rules_left():
        yield


@pytest.fixture
def always() -> None:
    set_rule("always")


@pytest.fixture
def user(committed_partner: Partner) -> User:
    return new_user(committed_partner)


def propose(user: User, by: Staff, to_status: str = "active") -> Proposal:
    return proposals.propose(compliance.Decision(user=user, to_status=to_status, by=by, **APPROVED))


def test_two_people_let_a_user_through(always: None, user: User, first: Staff, second: Staff) -> None:
    proposal = propose(user, first)
    change = proposals.approve(proposal_id=proposal.pk, by=second)
    user.refresh_from_db()
    proposal.refresh_from_db()
    assert (user.status, change.by, change.proposal) == ("active", second, proposal)
    assert (change.reason, proposal.state, proposal.ended_by) == ("Papers seen.", "approved", second)
    assert proposal.ended_at is not None


def test_a_changed_user_who_was_rejected_before_is_proposed_with_a_note(always: None, user: User, first: Staff) -> None:
    factories.reopen(user)
    User.objects.filter(pk=user.pk).update(city="Ottawa")
    standard = {"reason": "Identity and address verified", "reason_code": "verified"}
    with pytest.raises(ReasonMissingError, match="add a note that says why"):
        proposals.propose(compliance.Decision(user=user, to_status="active", by=first, **standard))
    assert proposals.propose(compliance.Decision(user=user, to_status="active", by=first, **APPROVED)).is_open


def test_one_person_is_told_how(always: None, user: User, first: Staff) -> None:
    with pytest.raises(RefusedError, match=r"takes two people: .*propose_user_status.*no open proposal"):
        compliance.decide(compliance.Decision(user=user, to_status="active", by=first, **APPROVED))
    proposal = propose(user, first)
    with pytest.raises(RefusedError, match=f"Open proposal: {proposal.pk}"):
        compliance.decide(compliance.Decision(user=user, to_status="active", by=first, **APPROVED))


def test_stopping_takes_one(always: None, user: User, first: Staff) -> None:
    assert (
        compliance.decide(compliance.Decision(user=user, to_status="rejected", by=first, **APPROVED)).proposal is None
    )


@pytest.mark.parametrize(
    ("condition", "fields", "takes_two"),
    [
        ("never", {"is_ciro_affiliate": True, "country": "FR"}, False),
        ("ciroAffiliate", {"is_ciro_affiliate": True}, True),
        ("ciroAffiliate", {"is_ciro_affiliate": False}, False),
        ("countryNotCanada", {"country": "FR"}, True),
        ("countryNotCanada", {"country": "CA"}, False),
        ("always", {}, True),
    ],
)
def test_a_condition_says_of_which_users(
    committed_partner: Partner,
    first: Staff,
    condition: str,
    fields: dict[str, Any],
    takes_two: bool,  # noqa: FBT001
) -> None:
    set_rule(condition)
    user = new_user(committed_partner, **fields)
    if takes_two:
        with pytest.raises(RefusedError, match="takes two people"):
            compliance.decide(compliance.Decision(user=user, to_status="active", by=first, **APPROVED))
        assert propose(user, first).state == ProposalState.OPEN
    else:
        with pytest.raises(RefusedError, match="takes one person"):
            propose(user, first)
        compliance.decide(compliance.Decision(user=user, to_status="active", by=first, **APPROVED))


def test_users_of_a_sandbox_have_no_rules(always: None, first: Staff) -> None:
    user = new_user(factories.PartnerFactory.create(slug=f"two-{uuid.uuid4()}", mode=Mode.SANDBOX))
    with pytest.raises(RefusedError, match="takes one person"):
        propose(user, first)
    compliance.decide(compliance.Decision(user=user, to_status="active", by=first, **APPROVED))


def test_a_user_has_one_open_proposal(always: None, user: User, first: Staff, second: Staff) -> None:
    propose(user, first)
    with pytest.raises(RefusedError, match=f"{first.username} has proposed this already"):
        propose(user, second)


def test_the_proposer_declines_but_does_not_approve(always: None, user: User, first: Staff, second: Staff) -> None:
    proposal = propose(user, first)
    with pytest.raises(RefusedError, match="another account approves"):
        proposals.approve(proposal_id=proposal.pk, by=first)
    with pytest.raises(RefusedError, match="A note is required"):
        proposals.decline(proposal_id=proposal.pk, by=first, note=" ")
    declined = proposals.decline(proposal_id=proposal.pk, by=first, note="The wrong user.")
    assert (declined.state, declined.ended_by, declined.note) == ("declined", first, "The wrong user.")
    with pytest.raises(RefusedError, match="has ended: Declined"):
        proposals.approve(proposal_id=proposal.pk, by=second)
    assert propose(user, second).state == ProposalState.OPEN


def test_a_change_of_the_user_overtakes_it(always: None, user: User, first: Staff, second: Staff) -> None:
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


def test_it_expires(always: None, user: User, first: Staff, second: Staff) -> None:
    proposal = propose(user, first)
    make_older(proposal, hours=73)
    present = proposals.current(user)
    assert present is not None
    assert (present.present_state, present.present_end) == (ProposalState.EXPIRED, present.expires_at)
    with pytest.raises(RefusedError, match="has ended: Expired"):
        proposals.approve(proposal_id=proposal.pk, by=second)
    propose(user, second)
    ended = Proposal.objects.with_states().get(pk=proposal.pk)
    assert (ended.present_state, ended.ended_by) == ("expired", None)


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


@pytest.mark.parametrize("action", ACTS)
@pytest.mark.parametrize("by_proposer", [True, False])
def test_who_made_or_reset_the_other_is_no_second_person(
    always: None,
    user: User,
    first: Staff,
    second: Staff,
    action: str,
    by_proposer: bool,  # noqa: FBT001
) -> None:
    proposal = propose(user, first)
    act(*((first, action, second) if by_proposer else (second, action, first)))
    with pytest.raises(RefusedError, match="may not decide together"):
        proposals.approve(proposal_id=proposal.pk, by=second)


def test_after_a_month_they_may(always: None, user: User, first: Staff, second: Staff) -> None:
    act(first, "staff.created", second, days=31)
    act(first, "staff.created", reviewer())
    act(first, "staff.disabled", second)
    assert proposals.approve(proposal_id=propose(user, first).pk, by=second).to_status == "active"


def test_a_superuser_is_no_exception(always: None, user: User, first: Staff, second: Staff) -> None:
    Staff.objects.filter(pk=first.pk).update(is_superuser=True)
    proposal = propose(user, Staff.objects.get(pk=first.pk))
    with pytest.raises(RefusedError, match="another account approves"):
        proposals.approve(proposal_id=proposal.pk, by=Staff.objects.get(pk=first.pk))
    with pytest.raises(RefusedError, match="takes two people"):
        compliance.decide(
            compliance.Decision(user=user, to_status="active", by=Staff.objects.get(pk=first.pk), **APPROVED)
        )


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


def declined(user: User, first: Staff, second: Staff) -> Proposal:
    return proposals.decline(proposal_id=propose(user, first).pk, by=second, note="No.")


def expired(user: User, first: Staff, second: Staff) -> Proposal:
    proposal = propose(user, first)
    make_older(proposal, hours=72)
    return proposal


def overtaken(user: User, first: Staff, second: Staff) -> Proposal:
    proposal = propose(user, first)
    User.objects.filter(pk=user.pk).update(city="Ottawa")
    return proposal


def of_another_user(user: User, first: Staff, second: Staff) -> Proposal:
    return propose(new_user(user.partner), first)


def of_another_move(user: User, first: Staff, second: Staff) -> Proposal:
    set_rule("always", start="rejected", end="pendingCompliance")
    compliance.decide(compliance.Decision(user=user, to_status="rejected", by=first, **APPROVED))
    proposal = propose(user, first, "pendingCompliance")
    set_rule("never", start="rejected", end="pendingCompliance")
    compliance.decide(compliance.Decision(user=user, to_status="pendingCompliance", by=first, **APPROVED))
    return proposal


def own(user: User, first: Staff, second: Staff) -> Proposal:
    return propose(user, second)


def of_a_disabled_account(user: User, first: Staff, second: Staff) -> Proposal:
    proposal = propose(user, first)
    Staff.objects.filter(pk=first.pk).update(is_active=False)
    return proposal


def by_an_account_made_by_the_other(user: User, first: Staff, second: Staff) -> Proposal:
    act(first, "staff.created", second)
    return propose(user, first)


def by_an_account_with_a_role_of_the_other(user: User, first: Staff, second: Staff) -> Proposal:
    act(second, "staffRole.created", first)
    return propose(user, first)


def by_an_account_reset_by_the_other(user: User, first: Staff, second: Staff) -> Proposal:
    act(second, "staff.factorReset", first)
    return propose(user, first)


def by_an_account_made_through_others(user: User, first: Staff, second: Staff) -> Proposal:
    one, other = reviewer(), reviewer()
    act(first, "staff.created", one, days=29)
    act(one, "staffRole.created", other)
    act(other, "staff.passwordChanged", second)
    return propose(user, first)


def by_an_account_made_a_superuser_by_the_other(user: User, first: Staff, second: Staff) -> Proposal:
    act(first, "staff.changed", second, detail='{"changes": {"is_superuser": [false, true]}}')
    return propose(user, first)


def by_an_account_whose_role_was_taken(user: User, first: Staff, second: Staff) -> Proposal:
    proposal = propose(user, first)
    first.groups.clear()
    return proposal


def for_a_viewer(user: User, first: Staff, second: Staff) -> Proposal:
    second.groups.set(Group.objects.filter(name="viewer"))
    return propose(user, first)


def for_an_auditor(user: User, first: Staff, second: Staff) -> Proposal:
    second.groups.set(Group.objects.filter(name="auditor"))
    return propose(user, first)


def for_an_account_without_a_role(user: User, first: Staff, second: Staff) -> Proposal:
    second.groups.clear()
    return propose(user, first)


def with_another_reason(user: User, first: Staff, second: Staff) -> Proposal:
    return propose(user, first)


def none(user: User, first: Staff, second: Staff) -> None:
    return None


@pytest.mark.parametrize(
    "make",
    [
        none, own, of_another_user, of_another_move, declined, expired, overtaken, of_a_disabled_account,
        by_an_account_made_by_the_other, by_an_account_with_a_role_of_the_other, by_an_account_reset_by_the_other,
        by_an_account_made_through_others, by_an_account_made_a_superuser_by_the_other,
        by_an_account_whose_role_was_taken, for_a_viewer, for_an_auditor, for_an_account_without_a_role,
        with_another_reason,
    ],
)  # fmt: skip
def test_no_statement_of_the_serving_role_moves_a_user_without_two_people(
    always: None, user: User, first: Staff, second: Staff, make: Callable[[User, Staff, Staff], Proposal | None]
) -> None:
    proposal = make(user, first, second)
    text = decide_in_sql(user, second, proposal)
    assert "This move takes two people" in text


def test_a_condition_cannot_be_switched_off(committed_partner: Partner, first: Staff, second: Staff) -> None:
    """By changing the field, in one transaction with the decision too."""
    set_rule("ciroAffiliate", "countryNotCanada")
    for before, after in (
        ({"is_ciro_affiliate": True}, {"is_ciro_affiliate": False}),
        ({"country": "FR"}, {"country": "CA"}),
    ):
        user = new_user(committed_partner, **before)
        with transaction.atomic():
            User.objects.filter(pk=user.pk).update(**after)
            assert "takes two people" in decide_in_sql(user, second, None)
        user = new_user(committed_partner)
        User.objects.filter(pk=user.pk).update(**before)
        User.objects.filter(pk=user.pk).update(**after)
        with pytest.raises(RefusedError, match="takes two people"):
            compliance.decide(compliance.Decision(user=user, to_status="active", by=first, **APPROVED))
        # A decision begins anew: what was so before it does not count.
        compliance.decide(compliance.Decision(user=user, to_status="rejected", by=first, **APPROVED))
        compliance.decide(compliance.Decision(user=user, to_status="pendingCompliance", by=first, **APPROVED))
        assert (
            compliance.decide(compliance.Decision(user=user, to_status="active", by=first, **APPROVED)).proposal is None
        )


@pytest.mark.parametrize(
    "statement",
    [
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
    ],
)
def test_the_serving_role_cannot_get_around_it(
    always: None, user: User, first: Staff, second: Staff, statement: str
) -> None:
    proposal = propose(user, first)
    refused_in_sql(statement, user=user.pk, by=second.pk, proposal=proposal.pk)
    assert proposals.approve(proposal_id=proposal.pk, by=second).to_status == "active"


def test_an_ended_proposal_does_not_open_again(always: None, user: User, first: Staff, second: Staff) -> None:
    proposal = proposals.decline(proposal_id=propose(user, first).pk, by=second, note="No.")
    refused_in_sql(
        "UPDATE users_proposal SET state = 'open', ended_by_id = NULL WHERE id = %(proposal)s", proposal=proposal.pk
    )


def test_of_two_approvals_at_once_one_succeeds(always: None, user: User, first: Staff) -> None:
    proposal = propose(user, first)
    people = [reviewer(), reviewer()]
    got = tried_at_once(*(lambda by=by: proposals.approve(proposal_id=proposal.pk, by=by) for by in people))
    assert sum(isinstance(one, RefusedError) for one in got) == 1
    assert StatusChange.objects.filter(user=user).count() == 1


def test_metrics_tell_what_waits(always: None, user: User, first: Staff) -> None:
    def value(name: str) -> float:
        with health.connect() as session:
            return next(metric.samples[0].value for metric in metrics.proposals(session) if metric.name == name)

    before = value("psi_proposals_waiting")
    proposal = propose(user, first)
    make_older(proposal, hours=50)
    assert value("psi_proposals_waiting") == before + 1
    assert value("psi_proposal_oldest_seconds") >= 50 * 3600
    User.objects.filter(pk=user.pk).update(city="Ottawa")
    assert value("psi_proposals_waiting") == before


# --- Commands ---


def test_the_commands_of_ops(always: None, user: User, first: Staff, second: Staff) -> None:
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


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (("active", "suspended", "always"), "takes one person"),
        (("pendingCompliance", "active", "always", "sometimes"), "Unknown condition sometimes"),
        (("pendingCompliance", "active", "never", "always"), "stands alone"),
    ],
)
def test_rules_are_for_moves_that_let_through(arguments: tuple[str, ...], text: str) -> None:
    assert text in refusal("set_approval_rule", *arguments)


def test_setting_a_rule_is_recorded(first: Staff, second: Staff, monkeypatch: pytest.MonkeyPatch) -> None:
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


def test_several_conditions_hold_side_by_side(committed_partner: Partner, first: Staff) -> None:
    before = outcome(
        "set_approval_rule", "pendingCompliance", "active", "ciroAffiliate", "countryNotCanada", "--dry-run"
    )
    set_rule("ciroAffiliate", "countryNotCanada")
    affiliate = new_user(committed_partner, is_ciro_affiliate=True)
    abroad = new_user(committed_partner, country="FR")
    for user in (affiliate, abroad):
        assert propose(user, first).state == ProposalState.OPEN
    plain = new_user(committed_partner)
    after = outcome(
        "set_approval_rule", "pendingCompliance", "active", "ciroAffiliate", "countryNotCanada", "--dry-run"
    )
    assert after["concerned"] == before["concerned"] + 2
    assert compliance.decide(compliance.Decision(user=plain, to_status="active", by=first, **APPROVED)).proposal is None


def test_a_rule_needs_two_accounts_that_may_decide(first: Staff) -> None:
    others = Staff.objects.exclude(pk=first.pk)
    active = list(others.filter(is_active=True).values_list("pk", flat=True))
    others.update(is_active=False)
    try:
        assert f"there is {first.username}" in refusal("set_approval_rule", "suspended", "active", "always")
        assert outcome("set_approval_rule", "suspended", "active", "never")["conditions"] == ["never"]
    finally:
        Staff.objects.filter(pk__in=active).update(is_active=True)


def test_both_people_are_in_the_audit_log(always: None, user: User, first: Staff, second: Staff) -> None:
    proposal = propose(user, first)
    proposals.approve(proposal_id=proposal.pk, by=second)
    entries = AuditEntry.objects.filter(object=str(user.pk)).order_by("id").values_list("action", "actor")
    assert list(entries) == [("user.proposed", first.username), ("user.decided", second.username)]
