"""The times of decisions whose transactions overlap."""

from concurrent.futures import ThreadPoolExecutor
from threading import Event

import psycopg
from django.db import connection, transaction

from core.database import serving_role
from partners.models import Partner
from tests import factories
from tests.conftest import database_url
from tests.support.at_once import wait_for_sessions
from tests.support.staff import client_as
from tests.support.timeouts import WAIT_SECONDS
from users.decisions.compliance import Decision, decide
from users.decisions.decision_basis import since_last_decision
from users.models import Status, StatusChange, User


def test_a_transaction_that_began_earlier_may_decide_later(committed_partner: Partner) -> None:
    staff = factories.StaffFactory.create(role="reviewer")
    user = factories.UserFactory.create(partner=committed_partner)
    begun, decided = Event(), Event()

    def suspend() -> None:
        try:
            with transaction.atomic():
                User.objects.exists()
                begun.set()
                assert decided.wait(WAIT_SECONDS)
                decide(Decision(user=user, to_status=Status.SUSPENDED, by=staff, reason="Papers lost."))
        finally:
            connection.close()

    with ThreadPoolExecutor(1) as pool:
        later = pool.submit(suspend)
        assert begun.wait(WAIT_SECONDS)
        decide(Decision(user=user, to_status=Status.ACTIVE, by=staff, reason="Papers seen."))
        decided.set()
        later.result()
    user.refresh_from_db()
    last = since_last_decision(user, sees_identity=True).decision
    assert last
    assert last.to_status == user.status == Status.SUSPENDED
    assert [change.to_status for change in user.status_changes.all()] == [Status.ACTIVE, Status.SUSPENDED]
    assert user.status_since == last.created_at


def test_decisions_are_listed_by_time(committed_partner: Partner) -> None:
    staff, client = factories.StaffFactory.create(role="reviewer"), client_as("auditor")
    waiting, other = factories.UserFactory.create_batch(2, partner=committed_partner)
    with psycopg.connect(database_url(serving_role.SERVING)) as blocker, ThreadPoolExecutor(1) as pool:
        blocker.execute("SELECT FROM users_user WHERE id = %s FOR UPDATE", [waiting.pk])
        # It has its id, and waits for the user before it gets its time.
        late = pool.submit(_insert_approval, waiting, staff.pk)
        wait_for_sessions(1)
        early = decide(Decision(user=other, to_status=Status.ACTIVE, by=staff, reason="Papers seen."))
        blocker.rollback()
        late_id = late.result()
    assert late_id < early.pk
    rows = client.get("/admin/users/statuschange/").context["cl"].result_list
    assert [row.pk for row in rows if row.user_id in {waiting.pk, other.pk}] == [late_id, early.pk]


def _insert_approval(user: User, staff_id: int) -> int:
    """Decide by the row alone, without the lock that `decide` takes first; return the row's id."""
    try:
        moved = {"from_status": Status.PENDING_COMPLIANCE, "to_status": Status.ACTIVE}
        return StatusChange.objects.create(user=user, by_id=staff_id, reason="Papers seen.", **moved).pk
    finally:
        connection.close()
