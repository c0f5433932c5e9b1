"""Whatever people do in whatever order: under a rule nobody becomes active without two unrelated people."""

import uuid
from contextlib import suppress
from typing import Any

import hypothesis.strategies as st
import psycopg
import pytest
from django.db import IntegrityError, connection, transaction
from hypothesis import HealthCheck, settings
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from partners.db import serving_role
from partners.models import Partner
from tests import factories
from tests.conftest import database_url
from tests.support.approval_rules import no_rules_left, reviewer, set_rule
from users.decisions import compliance, proposals
from users.decisions.compliance import DecisionRefusedError
from users.models import Condition, Staff, StatusChange, User
from users.models.approvals import RULED_MOVES
from users.models.statuses import TRANSITIONS, Status

USERS, PEOPLE = st.integers(0, 1), st.integers(0, 3)
DECIDE = """
    INSERT INTO users_statuschange (user_id, from_status, to_status, by_id, reason, proposal_id)
    SELECT id, status, %s, %s, 'By SQL.', %s FROM users_user WHERE id = %s
"""


class Business(RuleBasedStateMachine):
    """Two users and four people. conditions: of each move; related: the people who may not decide together."""

    def __init__(self, partner: Partner) -> None:
        super().__init__()
        for start, end in RULED_MOVES:
            set_rule("never", start.value, end.value)
        self.users: list[User] = [
            factories.UserFactory.create(
                partner=partner, external_id=f"two-{uuid.uuid4()}", is_ciro_affiliate=affiliate, country="CA"
            )
            for affiliate in (True, False)
        ]
        self.people = [reviewer() for _ in range(4)]
        self.conditions: dict[tuple[str, str], str] = {}
        self.set_rule(RULED_MOVES[0], "always")
        self.related: set[frozenset[int]] = set()
        # Decisions that were made under a rule.
        self.ruled: set[int] = set()

    def takes_two(self, user: User, to_status: str) -> bool:
        condition = self.conditions.get((user.status, to_status), "never")
        return condition == "always" or (condition == "ciroAffiliate" and user.is_ciro_affiliate)

    def attempt(self, user: User, decide: Any) -> None:
        """Try a decision; note whether a rule applied to it."""
        user.refresh_from_db()
        applies = {end.value: self.takes_two(user, end.value) for end in TRANSITIONS[Status(user.status)]}
        before = StatusChange.objects.filter(user=user).count()
        with suppress(DecisionRefusedError, IntegrityError), transaction.atomic():
            decide()
        if StatusChange.objects.filter(user=user).count() > before:
            change = StatusChange.objects.filter(user=user).latest("created_at")
            if applies[change.to_status]:
                self.ruled.add(change.pk)

    @rule(move=st.sampled_from(RULED_MOVES), condition=st.sampled_from(["never", "always", "ciroAffiliate"]))
    def set_rule(self, move: tuple[Status, Status], condition: str) -> None:
        assert condition in Condition.values
        set_rule(condition, *(status.value for status in move))
        self.conditions[move[0].value, move[1].value] = condition

    @rule(number=USERS, person=PEOPLE, to_status=st.sampled_from([Status.ACTIVE, Status.PENDING_COMPLIANCE]))
    def propose(self, number: int, person: int, to_status: Status) -> None:
        with suppress(DecisionRefusedError):
            proposals.propose(user=self.users[number], to_status=to_status, by=self.people[person], reason="Seen.")

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
            with suppress(DecisionRefusedError):
                proposals.decline(proposal_id=proposal.pk, by=self.people[person], note="No.")

    @rule(number=USERS, person=PEOPLE, move=st.integers(0, 1))
    def decide_alone(self, number: int, person: int, move: int) -> None:
        user = self.users[number]
        user.refresh_from_db()
        ends = [end for end in TRANSITIONS[Status(user.status)] if end != Status.CLOSED]
        to_status = ends[move % len(ends)]
        self.attempt(
            user,
            lambda: compliance.change_status(user=user, to_status=to_status, by=self.people[person], reason="Seen."),
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

    @rule(number=USERS, city=st.sampled_from(["Ottawa", "Toronto"]))
    def change_the_profile(self, number: int, city: str) -> None:
        User.objects.filter(pk=self.users[number].pk).update(city=city)

    @rule(one=PEOPLE, other=PEOPLE, action=st.sampled_from(["staff.created", "staff.factorReset", "staffRole.created"]))
    def relate(self, one: int, other: int, action: str) -> None:
        """One makes the other's account anew, so to speak."""
        if one == other:
            return
        maker, made = self.people[one], reviewer()
        self.people[other] = made
        with psycopg.connect(database_url(serving_role.SERVING), autocommit=True) as session:
            session.execute(
                "INSERT INTO partners_auditentry (actor, actor_kind, action, object, detail)"
                " VALUES (%s, 'staff', %s, %s, '{}')",
                (maker.username, action, made.username),
            )
        self.related.add(frozenset((maker.pk, made.pk)))

    @invariant()
    def under_a_rule_two_unrelated_people_decided(self) -> None:
        for change in StatusChange.objects.filter(pk__in=self.ruled).select_related("proposal"):
            assert change.proposal is not None
            assert change.proposal.user_id == change.user_id
            pair = frozenset((change.by_id, change.proposal.by_id))
            assert len(pair) == 2
            assert pair not in self.related

    @invariant()
    def a_user_has_one_open_proposal_at_most(self) -> None:
        for user in self.users:
            assert user.proposals.filter(state="open").count() <= 1


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
                max_examples=30, stateful_step_count=25, deadline=None, suppress_health_check=list(HealthCheck)
            ),
        )
    # It was about something: decisions were made under a rule.
    assert any(one.ruled for one in seen)
    assert isinstance(seen[0].people[0], Staff)
