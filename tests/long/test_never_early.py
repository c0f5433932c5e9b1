"""Whatever happens in whatever order: nobody is erased before the clock has run out, nor under a hold, and all who are
due are found.
"""

import uuid
from datetime import UTC, datetime, timedelta
from typing import Any

import hypothesis.strategies as st
import psycopg
import pytest
from django.db import connections
from hypothesis import HealthCheck, settings
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test
from psycopg.errors import IntegrityConstraintViolation

from core.database import serving_role
from partners.models import Partner
from staff.models import Staff
from tests import factories
from tests.conftest import database_url
from tests.support.erasing import approve_erasure, date_back, erase
from users import retention
from users.models import Erasure, Hold, ProposedErasure, User
from users.models.statuses import ENDED_STATUSES, TRANSITIONS, Status
from users.retention import due_users

YEARS = 5
USERS = st.integers(0, 2)
# On both sides of five years ago, and on a day that not all years have.
TIMES = st.sampled_from(
    [
        datetime(2016, 2, 29, 12, tzinfo=UTC),
        datetime(2019, 7, 1, tzinfo=UTC),
        datetime.now(UTC) - timedelta(days=366 * YEARS),
        datetime.now(UTC) - timedelta(days=365 * YEARS - 2),
        datetime.now(UTC) - timedelta(days=30),
    ]
)


def years_later(time: datetime) -> datetime:
    try:
        return time.replace(year=time.year + YEARS)
    except ValueError:
        return time.replace(year=time.year + YEARS, day=28)


class Records(RuleBasedStateMachine):
    """Three users. since, newest: what the clock runs from. held: their holds that nobody has released."""

    def __init__(self, partner: Partner) -> None:
        super().__init__()
        self.partner = partner
        self.users: list[User] = [
            factories.UserFactory.create(partner=partner, external_id=f"early-{uuid.uuid4()}") for _ in range(3)
        ]
        self.staff: list[Staff] = [
            factories.StaffFactory.create(username=f"e-{uuid.uuid4().hex[:12]}") for _ in range(2)
        ]
        self.status = [Status.PENDING_COMPLIANCE] * 3
        self.since = [datetime.now(UTC)] * 3
        self.newest: list[datetime | None] = [None] * 3
        self.held: list[list[Hold]] = [[], [], []]
        self.erased = [False] * 3
        self.owner = psycopg.connect(database_url(serving_role.OWNER), autocommit=True)

    def teardown(self) -> None:
        self.owner.close()

    def is_due(self, number: int) -> bool:
        if self.erased[number] or self.status[number] not in ENDED_STATUSES:
            return False
        latest = max(filter(None, (self.since[number], self.newest[number])))
        return years_later(latest) <= datetime.now(UTC)

    @rule(number=USERS, move=st.integers(0, 1))
    def decide(self, number: int, move: int) -> None:
        ends = TRANSITIONS[self.status[number]]
        if self.erased[number] or not ends:
            return
        user = User.objects.get(pk=self.users[number].pk)
        # The clock of the database goes on, whatever the user was dated back to.
        to_status = ends[move % len(ends)]
        factories.StatusChangeFactory.create(user=user, to_status=to_status, by=self.staff[0])
        self.status[number], self.since[number] = to_status, datetime.now(UTC)

    @rule(number=USERS, since=TIMES)
    def age(self, number: int, since: datetime) -> None:
        if not self.erased[number]:
            date_back(self.users[number].pk, since)
            self.since[number] = since

    @rule(number=USERS, since=TIMES)
    def end_then(self, number: int, since: datetime) -> None:
        if self.status[number] in {Status.PENDING_COMPLIANCE, Status.ACTIVE}:
            self.decide(number, move=1)
            self.age(number, since)

    @rule(number=USERS)
    def release_all_and_erase(self, number: int) -> None:
        while self.held[number]:
            self.release(number)
        self.erase(number)

    @rule(number=USERS)
    def end_long_ago_and_erase(self, number: int) -> None:
        # The whole way in one step: few sequences of random ones go it.
        self.end_then(number, datetime(2019, 7, 1, tzinfo=UTC))
        self.release_all_and_erase(number)

    @rule(number=USERS, time=TIMES, add=st.sampled_from([factories.add_conversions, factories.add_documents]))
    def add_row(self, number: int, time: datetime, add: Any) -> None:
        if self.erased[number]:
            return
        fields = {"conversion_id": f"cv-{uuid.uuid4()}"} if add is factories.add_conversions else {}
        add(self.users[number], [time], **fields)
        self.newest[number] = max(time, self.newest[number] or time)

    @rule(number=USERS)
    def hold(self, number: int) -> None:
        if not self.erased[number]:
            hold = retention.place_hold(user=self.users[number], by=self.staff[0], reason="Litigation.")
            self.held[number].append(hold)

    @rule(number=USERS)
    def release(self, number: int) -> None:
        if not self.erased[number] and self.held[number]:
            hold = self.held[number].pop()
            retention.release_hold(hold_id=hold.pk, by=self.staff[1], reason="It has ended.")

    @rule(number=USERS)
    def erase(self, number: int) -> None:
        may = self.is_due(number) and not self.held[number]
        user = self.users[number]
        if may:
            # One that was approved before the user was held or decided about still stands.
            if not ProposedErasure.objects.filter(user=user).exists():
                with pytest.raises(IntegrityConstraintViolation, match="Two people"):
                    erase(self.owner, user)
                approve_erasure(user)
            erase(self.owner, user)
            self.erased[number] = True
        else:
            with pytest.raises(IntegrityConstraintViolation):
                erase(self.owner, user)

    @rule(number=USERS)
    def approve(self, number: int) -> None:
        user = self.users[number]
        if self.is_due(number) and not self.held[number] and not ProposedErasure.objects.filter(user=user).exists():
            approve_erasure(user)

    @invariant()
    def who_is_due_is_found(self) -> None:
        found = {one.pk: one.held for one in due_users(partner=self.partner)}
        mine = {user.pk: bool(self.held[number]) for number, user in enumerate(self.users) if self.is_due(number)}
        ids = {user.pk for user in self.users}
        assert {user_id: held for user_id, held in found.items() if user_id in ids} == mine

    @invariant()
    def who_is_not_erased_is_there(self) -> None:
        for user, erased in zip(self.users, self.erased, strict=True):
            assert User.objects.filter(pk=user.pk).exists() != erased
            assert Erasure.objects.filter(pk=user.pk).exists() == erased


@pytest.mark.usefixtures("committed_partner")
def test_no_sequence_erases_anybody_early(committed_partner: Partner) -> None:
    seen: list[Records] = []

    class OfPartner(Records):
        def __init__(self) -> None:
            super().__init__(committed_partner)
            seen.append(self)

    run_state_machine_as_test(
        OfPartner,
        settings=settings(
            max_examples=25, stateful_step_count=20, deadline=None, suppress_health_check=list(HealthCheck)
        ),
    )
    # It was about something: some were erased, and some were held when it was tried.
    assert any(any(one.erased) for one in seen)
    assert any(any(one.held) for one in seen)
    connections.close_all()
