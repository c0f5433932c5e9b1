"""Whatever an administrator, reviewers, a superuser and a partner do in whatever order: under a rule nobody becomes
active without two unrelated people who may decide.
"""

import uuid
from contextlib import suppress
from typing import Any

import hypothesis.strategies as st
import psycopg
import pytest
from django.contrib.auth.models import Group
from django.db import IntegrityError, connection, transaction
from hypothesis import HealthCheck, settings
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from core.database import serving_role
from core.refusals import RefusedError
from partners.models import Partner
from staff.models import Staff
from tests import factories
from tests.conftest import database_url
from tests.support.approval_rules import no_rules_left, reviewer, set_rule
from users.decisions import compliance, proposals
from users.models import Condition, StatusChange, User
from users.models.approvals import RULED_MOVES
from users.models.statuses import TRANSITIONS, Status

USERS, PEOPLE = st.integers(0, 1), st.integers(0, 4)
DECIDE = """
    INSERT INTO users_statuschange (user_id, from_status, to_status, by_id, reason, proposal_id)
    SELECT id, status, %s, %s, 'Seen.', %s FROM users_user WHERE id = %s
"""


class Business(RuleBasedStateMachine):
    """Two users and five people, of whom one is a superuser and one an administrator.

    conditions: of each move. made: who made, re-roled or reset whom.
    """

    def __init__(self, partner: Partner) -> None:
        super().__init__()
        for start, end in RULED_MOVES:
            set_rule("never", start=start.value, end=end.value)
        self.users: list[User] = [
            factories.UserFactory.create(
                partner=partner, external_id=f"two-{uuid.uuid4()}", is_ciro_affiliate=affiliate, country="CA"
            )
            for affiliate in (True, False)
        ]
        self.people = [reviewer() for _ in range(3)]
        self.people.append(factories.StaffFactory.create(username=f"s-{uuid.uuid4().hex[:12]}", role=""))
        self.people.append(factories.StaffFactory.create(username=f"a-{uuid.uuid4().hex[:12]}", role="administrator"))
        # Which users were affiliates in some version since their last decision.
        self.affiliates = {user.pk: user.is_ciro_affiliate for user in self.users}
        self.conditions: dict[tuple[str, str], str] = {}
        self.set_rule(RULED_MOVES[0], "always")
        self.made: set[tuple[str, str]] = set()
        # Decisions that were made under a rule.
        self.ruled: set[int] = set()

    def takes_two(self, user: User, to_status: str) -> bool:
        condition = self.conditions.get((user.status, to_status), "never")
        return condition == "always" or (condition == "ciroAffiliate" and self.affiliates[user.pk])

    def attempt(self, user: User, decide: Any) -> None:
        """Try a decision; note whether a rule applied to it."""
        user.refresh_from_db()
        applies = {end.value: self.takes_two(user, end.value) for end in TRANSITIONS[Status(user.status)]}
        before = StatusChange.objects.filter(user=user).count()
        with suppress(RefusedError, IntegrityError), transaction.atomic():
            decide()
        if StatusChange.objects.filter(user=user).count() > before:
            change = StatusChange.objects.filter(user=user).latest("created_at")
            self.affiliates[user.pk] = User.objects.get(pk=user.pk).is_ciro_affiliate
            if applies[change.to_status]:
                self.ruled.add(change.pk)
                assert change.proposal is not None
                one, other = change.by.username, change.proposal.by.username
                assert one != other
                assert not {(one, other), (other, one)} & self.made
                for staff in (change.by, change.proposal.by):
                    assert Staff.objects.get(pk=staff.pk).is_active
                    assert Staff.objects.get(pk=staff.pk).has_perm(compliance.PERMISSION)

    @rule(move=st.sampled_from(RULED_MOVES), condition=st.sampled_from(["never", "always", "ciroAffiliate"]))
    def set_rule(self, move: tuple[Status, Status], condition: str) -> None:
        assert condition in Condition.values
        set_rule(condition, start=move[0].value, end=move[1].value)
        self.conditions[move[0].value, move[1].value] = condition

    @rule(number=USERS, person=PEOPLE, to_status=st.sampled_from([Status.ACTIVE, Status.PENDING_COMPLIANCE]))
    def propose(self, number: int, person: int, to_status: Status) -> None:
        with suppress(RefusedError):
            proposals.propose(
                compliance.Decision(
                    user=self.users[number], to_status=to_status, by=self.people[person], reason="Seen."
                )
            )

    @rule(number=USERS, person=PEOPLE)
    def approve(self, number: int, person: int) -> None:
        user = self.users[number]
        proposal = user.proposals.order_by("-created_at").first()
        if proposal is not None:
            self.attempt(user, lambda: proposals.approve(proposal_id=proposal.pk, by=self.people[person]))

    @rule(number=USERS, one=PEOPLE, other=PEOPLE)
    def propose_and_approve(self, number: int, one: int, other: int) -> None:
        self.propose(number, one, Status.ACTIVE)
        self.approve(number, other)

    @rule(number=USERS, person=PEOPLE)
    def decline(self, number: int, person: int) -> None:
        proposal = self.users[number].proposals.order_by("-created_at").first()
        if proposal is not None:
            with suppress(RefusedError):
                proposals.decline(proposal_id=proposal.pk, by=self.people[person], note="No.")

    @rule(number=USERS, person=PEOPLE, move=st.integers(0, 1))
    def decide_alone(self, number: int, person: int, move: int) -> None:
        user = self.users[number]
        user.refresh_from_db()
        ends = [end for end in TRANSITIONS[Status(user.status)] if end != Status.CLOSED]
        to_status = ends[move % len(ends)]
        self.attempt(
            user,
            lambda: compliance.decide(
                compliance.Decision(user=user, to_status=to_status, by=self.people[person], reason="Seen.")
            ),
        )

    @rule(number=USERS, person=PEOPLE, to_status=st.sampled_from([Status.ACTIVE, Status.PENDING_COMPLIANCE]))
    def decide_by_sql(self, number: int, person: int, to_status: Status) -> None:
        """As the serving role, with whatever proposal there is."""
        user = self.users[number]
        proposal = user.proposals.order_by("-created_at").first()

        def insert() -> None:
            with connection.cursor() as cursor:
                cursor.execute(
                    DECIDE, [to_status.value, self.people[person].pk, proposal.pk if proposal else None, user.pk]
                )

        self.attempt(user, insert)

    @rule(number=USERS, affiliate=st.booleans())
    def change_the_profile(self, number: int, affiliate: bool) -> None:  # noqa: FBT001
        """The partner."""
        user = self.users[number]
        User.objects.filter(pk=user.pk).update(is_ciro_affiliate=affiliate)
        self.affiliates[user.pk] |= affiliate

    @rule(person=PEOPLE, is_active=st.booleans(), has_role=st.booleans())
    def change_an_account(self, person: int, is_active: bool, has_role: bool) -> None:  # noqa: FBT001
        staff = self.people[person]
        Staff.objects.filter(pk=staff.pk).update(is_active=is_active)
        staff.groups.set(Group.objects.filter(name="reviewer" if has_role else "viewer"))
        self.people[person] = Staff.objects.get(pk=staff.pk)

    @rule(one=PEOPLE, other=PEOPLE, action=st.sampled_from(["staff.created", "staff.factorReset", "staffRole.created"]))
    def relate(self, one: int, other: int, action: str) -> None:
        """One makes the other's account anew, so to speak."""
        if one == other:
            return
        maker, made = self.people[one], reviewer()
        self.people[other] = made
        with psycopg.connect(database_url(serving_role.SERVING), autocommit=True) as session:
            # As anybody's session may: what it did is in the audit log.
            session.execute(
                "INSERT INTO core_auditentry (actor, actor_kind, action, object, detail)"
                " VALUES (%s, 'staff', %s, %s, '{}')",
                (maker.username, action, made.username),
            )
        self.made.add((maker.username, made.username))

    @invariant()
    def a_user_has_one_open_proposal_at_most(self) -> None:
        for user in self.users:
            assert user.proposals.open().count() <= 1


@pytest.mark.usefixtures("committed_partner")
def test_no_sequence_lets_a_user_through_by_one(committed_partner: Partner) -> None:
    seen: list[Business] = []

    class OfPartner(Business):
        def __init__(self) -> None:
            super().__init__(committed_partner)
            seen.append(self)

    with no_rules_left():
        run_state_machine_as_test(
            OfPartner,
            settings=settings(
                max_examples=15, stateful_step_count=25, deadline=None, suppress_health_check=list(HealthCheck)
            ),
        )
    # It was about something: decisions were made under a rule.
    assert any(one.ruled for one in seen)
    assert isinstance(seen[0].people[0], Staff)
