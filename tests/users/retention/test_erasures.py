"""Destroying takes two people: docs/operations.md, "Records". By commands, and by SQL of the serving role."""

import uuid
from datetime import UTC, datetime
from typing import Any

import psycopg
import pytest
from psycopg.errors import IntegrityConstraintViolation

from core.database import serving_role
from core.models import AuditEntry
from partners.models import Partner
from staff.models import Staff
from tests import factories
from tests.conftest import database_url
from tests.support.approval_rules import act, reviewer
from tests.support.commands import outcome, refusal
from tests.support.erasing import age_erasures, approve_erasure, date_back, erase
from users import retention
from users.models import ErasureProposal, ProposedErasure, Status, User

pytestmark = pytest.mark.usefixtures("committed_partner")
LONG_AGO = datetime(2015, 6, 1, tzinfo=UTC)


def due_user(partner: Partner) -> User:
    user: User = factories.UserFactory.create(
        partner=partner, external_id=f"due-{uuid.uuid4()}", status=Status.REJECTED
    )
    date_back(user.pk, LONG_AGO)
    return user


def auditor() -> Staff:
    staff: Staff = factories.StaffFactory.create(username=f"a-{uuid.uuid4().hex[:12]}", role="auditor")
    return staff


def propose(partner: Partner, count: int, by: Staff) -> Any:
    arguments = ("--confirm", str(count), "--partner", partner.slug, "--reason", "Due.", "--by", by.username)
    return outcome("propose_erasure", *arguments)


def test_one_proposes_and_another_approves(committed_partner: Partner) -> None:
    users = [due_user(committed_partner) for _ in range(2)]
    first, second = reviewer(), auditor()
    proposed = propose(committed_partner, 2, first)
    assert set(proposed) == {"erasureId", "users", "expiresAt"}
    assert proposed["users"] == 2
    own = refusal("approve_erasure", proposed["erasureId"], "--by", first.username)
    assert own == "You proposed this: another account approves it."
    assert outcome("approve_erasure", proposed["erasureId"], "--by", second.username) == {"state": "approved"}
    again = refusal("approve_erasure", proposed["erasureId"], "--by", auditor().username)
    assert again == "This proposal has ended: Approved."
    assert set(ProposedErasure.objects.values_list("user", flat=True)) >= {user.pk for user in users}
    entries = AuditEntry.objects.filter(object=proposed["erasureId"]).order_by("id")
    assert [(one.action, one.actor) for one in entries] == [
        ("erasure.proposed", first.username),
        ("erasure.approved", second.username),
    ]
    assert entries[0].detail["reason"] == "Due."
    assert entries[1].detail["proposedBy"] == first.username


def test_the_number_is_that_of_users_who_are_due_not_held_and_in_no_other_erasure(committed_partner: Partner) -> None:
    first, held, _last = (due_user(committed_partner) for _ in range(3))
    by = reviewer()
    retention.place_hold(user=held, by=by, reason="Litigation.")
    arguments = ("propose_erasure", "--partner", committed_partner.slug, "--reason", "Due.", "--by", by.username)
    assert refusal(*arguments, "--confirm", "3") == "Not 3 but 2 can be proposed now: nothing was proposed."
    retention.propose_erasure(by=by, reason="Due.", user_ids=[first.pk])
    assert refusal(*arguments, "--confirm", "2") == "Not 2 but 1 can be proposed now: nothing was proposed."
    propose(committed_partner, 1, by)
    assert refusal(*arguments, "--confirm", "0") == "There is nobody to erase: nothing was proposed."
    # One that has expired names nobody any more.
    age_erasures("73 hours")
    assert propose(committed_partner, 2, by)["users"] == 2


def test_a_proposal_is_declined_by_its_proposer_or_another(committed_partner: Partner) -> None:
    user, by = due_user(committed_partner), reviewer()
    for second in (by, auditor()):
        erasure = propose(committed_partner, 1, by)["erasureId"]
        declined = outcome("decline_erasure", erasure, "--reason", "A complaint is open.", "--by", second.username)
        assert declined == {"state": "declined"}
        line = AuditEntry.objects.get(object=erasure, action="erasure.declined")
        assert (line.actor, line.detail["reason"]) == (second.username, "A complaint is open.")
    with psycopg.connect(database_url(serving_role.OWNER)) as owner, pytest.raises(IntegrityConstraintViolation):
        erase(owner, user)
    assert propose(committed_partner, 1, by)["users"] == 1


def staff_of(role: str) -> Staff:
    staff: Staff = factories.StaffFactory.create(username=f"x-{uuid.uuid4().hex[:12]}", role=role)
    return staff


def test_others_neither_propose_nor_approve(committed_partner: Partner) -> None:
    due_user(committed_partner)
    erasure = propose(committed_partner, 1, reviewer())["erasureId"]
    for other in map(staff_of, ("viewer", "partner-manager", "administrator")):
        by, told = ("--by", other.username), f"{other.username} may not hold or erase records."
        assert refusal("approve_erasure", erasure, *by) == told
        assert refusal("decline_erasure", erasure, "--reason", "No.", *by) == told
        assert refusal("propose_erasure", "--confirm", "1", "--reason", "Due.", *by) == told


def test_people_who_are_related_do_not_erase_together(committed_partner: Partner) -> None:
    due_user(committed_partner)
    first, second, maker = reviewer(), reviewer(), reviewer()
    act(first, "staff.created", on=second)
    erasure = propose(committed_partner, 1, first)["erasureId"]
    assert "may not decide together" in refusal("approve_erasure", erasure, "--by", second.username)
    third = reviewer()
    for made in (first, third):
        act(maker, "staff.created", on=made)
    outcome("approve_erasure", erasure, "--by", third.username)
    assert ErasureProposal.objects.get(pk=erasure).common_maker == maker.username


def test_it_is_approved_within_72_hours_and_carried_out_within_30_days(committed_partner: Partner) -> None:
    user, by, second = due_user(committed_partner), reviewer(), auditor()
    erasure = propose(committed_partner, 1, by)["erasureId"]
    age_erasures("72 hours")
    told = "This proposal has ended: Expired."
    assert refusal("approve_erasure", erasure, "--by", second.username) == told
    approve_erasure(user)
    age_erasures("30 days")
    with psycopg.connect(database_url(serving_role.OWNER)) as owner:
        with pytest.raises(IntegrityConstraintViolation, match="Two people have not approved"), owner.transaction():
            erase(owner, user)
        approve_erasure(user)
        age_erasures("29 days")
        erase(owner, user)


def test_the_state_is_done_when_all_are_erased(committed_partner: Partner) -> None:
    users = [due_user(committed_partner) for _ in range(2)]
    proposal = approve_erasure(*users)
    with psycopg.connect(database_url(serving_role.OWNER), autocommit=True) as owner:
        for user, state in zip(users, ("approved", "done"), strict=True):
            erase(owner, user)
            assert ErasureProposal.objects.with_states().get(pk=proposal.pk).present_state == state
    assert ErasureProposal.objects.get(pk=proposal.pk).reason == ""


PROPOSAL = """INSERT INTO users_erasureproposal (id, by_id, users, reason, created_at, state, note, common_maker)
    VALUES (gen_random_uuid(), %(by)s, 1, 'Due.', now(), 'open', '', '') RETURNING id"""


def by_sql(statement: str, **values: object) -> Any:
    """Run it as the serving role, and commit."""
    with psycopg.connect(database_url(serving_role.SERVING), autocommit=True) as session:
        cursor = session.execute(statement, values)
        return cursor.fetchone() if cursor.description else None


def proposed_by_sql(by: Staff, *users: User) -> uuid.UUID:
    [made] = by_sql(PROPOSAL, by=by.pk)
    for user in users:
        by_sql(
            "INSERT INTO users_proposederasure (proposal_id, user_id) VALUES (%(of)s, %(user)s)", of=made, user=user.pk
        )
    return uuid.UUID(str(made))


APPROVE = "UPDATE users_erasureproposal SET state = 'approved', ended_by_id = %(by)s WHERE id = %(of)s"


def related_to(first: Staff) -> Staff:
    made = reviewer()
    act(first, "staff.created", on=made)
    return made


def disabled() -> Staff:
    staff = reviewer()
    Staff.objects.filter(pk=staff.pk).update(is_active=False)
    return staff


def test_no_sql_of_the_serving_role_approves_with_fewer_than_two(
    committed_partner: Partner, subtests: pytest.Subtests
) -> None:
    by = reviewer()
    erasure = proposed_by_sql(by, due_user(committed_partner))
    others = {"the same": by, "a viewer": staff_of("viewer"), "related": related_to(by), "disabled": disabled()}
    for name, other in others.items():
        with subtests.test(name), pytest.raises(IntegrityConstraintViolation):
            by_sql(APPROVE, of=erasure, by=other.pk)


def test_superusers_are_no_exception(committed_partner: Partner) -> None:
    one: Staff = factories.StaffFactory.create(username=f"s-{uuid.uuid4().hex[:12]}", role="")
    assert one.is_superuser
    erasure = proposed_by_sql(one, due_user(committed_partner))
    with pytest.raises(IntegrityConstraintViolation, match="two people"):
        by_sql(APPROVE, of=erasure, by=one.pk)
    by_sql(APPROVE, of=erasure, by=reviewer().pk)


STATEMENTS = [
    # A user more, before and after the approval.
    "INSERT INTO users_proposederasure (proposal_id, user_id) VALUES (%(of)s, %(other)s)",
    f"{APPROVE}; INSERT INTO users_proposederasure (proposal_id, user_id) VALUES (%(of)s, %(other)s)",
    "UPDATE users_erasureproposal SET state = 'open' WHERE id = %(of)s",
    "UPDATE users_erasureproposal SET reason = '' WHERE id = %(of)s",
    "UPDATE users_erasureproposal SET created_at = now() WHERE id = %(of)s",
    "UPDATE users_erasureproposal SET state = 'declined', ended_by_id = %(by)s WHERE id = %(of)s",
    "DELETE FROM users_proposederasure WHERE proposal_id = %(of)s",
    "DELETE FROM users_erasureproposal WHERE id = %(of)s",
    f"{APPROVE}; UPDATE users_erasureproposal SET state = 'declined', note = 'x' WHERE id = %(of)s",
]


def test_the_owner_changes_nothing_else_of_a_proposal(committed_partner: Partner, subtests: pytest.Subtests) -> None:
    erasure = proposed_by_sql(reviewer(), due_user(committed_partner))
    values = {"of": erasure, "other": due_user(committed_partner).pk, "by": reviewer().pk}
    with psycopg.connect(database_url(serving_role.OWNER), autocommit=True) as owner:
        for statement in STATEMENTS:
            with (
                subtests.test(statement),
                psycopg.ClientCursor(owner) as cursor,
                owner.transaction(force_rollback=True),
                pytest.raises(psycopg.errors.IntegrityError),
            ):
                cursor.execute(statement, values)


def test_a_proposal_that_names_nobody_is_not_approved(committed_partner: Partner) -> None:
    erasure = proposed_by_sql(reviewer())
    with pytest.raises(IntegrityConstraintViolation, match="does not name its users"):
        by_sql(APPROVE, of=erasure, by=reviewer().pk)


def test_no_sql_of_the_serving_role_holds_or_releases_for_others(committed_partner: Partner) -> None:
    user = due_user(committed_partner)
    hold = retention.place_hold(user=user, by=reviewer(), reason="Litigation.")
    release_it = (
        "INSERT INTO users_holdrelease (hold_id, by_id, reason, created_at) VALUES (%(of)s, %(by)s, 'x', now())"
    )
    hold_it = (
        "INSERT INTO users_hold (id, user_id, by_id, reason, created_at)"
        " VALUES (gen_random_uuid(), %(of)s, %(by)s, 'x', now())"
    )
    for other in map(staff_of, ("viewer", "partner-manager")):
        for statement, row in ((release_it, hold), (hold_it, user)):
            with pytest.raises(IntegrityConstraintViolation, match="may decide, or audits"):
                by_sql(statement, of=row.pk, by=other.pk)
    assert retention.held({user.pk})
