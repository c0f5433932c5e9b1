"""The times of decisions whose transactions overlap."""

from concurrent.futures import ThreadPoolExecutor
from threading import Event

from django.db import connection, transaction

from partners.models import Partner
from tests import factories
from tests.support.timeouts import WAIT_SECONDS
from users.models import Status, User
from users.services.changes import since_last_decision
from users.services.compliance import change_status


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
                change_status(user=user, to_status=Status.SUSPENDED, by=staff, reason="Papers lost.")
        finally:
            connection.close()

    with ThreadPoolExecutor(1) as pool:
        later = pool.submit(suspend)
        assert begun.wait(WAIT_SECONDS)
        change_status(user=user, to_status=Status.ACTIVE, by=staff, reason="Papers seen.")
        decided.set()
        later.result()
    user.refresh_from_db()
    last = since_last_decision(user, sees_identity=True).decision
    assert last
    assert last.to_status == user.status == Status.SUSPENDED
    assert [change.to_status for change in user.status_changes.all()] == [Status.ACTIVE, Status.SUSPENDED]
    assert all(change.since < change.created_at for change in user.status_changes.all())
    assert user.status_since == last.created_at
