"""Concurrent decisions on one case, each on its own connection."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

from django.db import connection

from partners.models import Partner
from tests import factories
from users.decisions.changes import version_of
from users.decisions.compliance import StaleError, change_status
from users.models import Staff, Status, StatusChange, User

PEOPLE = 4


def attempt(user: User, shown: str, by: Staff, barrier: Barrier) -> Any:
    try:
        connection.ensure_connection()
        barrier.wait()
        return change_status(user=user, expected_version=shown, to_status=Status.ACTIVE, reason="Papers seen.", by=by)
    except StaleError as stale:
        return stale
    finally:
        connection.close()


def test_of_concurrent_decisions_one_succeeds_and_the_others_name_who_decided(committed_partner: Partner) -> None:
    user = factories.UserFactory.create(partner=committed_partner)
    shown, barrier = version_of(user), Barrier(PEOPLE)
    people = [factories.StaffFactory.create() for _ in range(PEOPLE)]
    with ThreadPoolExecutor(PEOPLE) as pool:
        got = list(pool.map(lambda person: attempt(user, shown, person, barrier), people))
    (made,) = [one for one in got if isinstance(one, StatusChange)]
    refused = [one for one in got if isinstance(one, StaleError)]
    assert len(refused) == PEOPLE - 1
    assert {one.changes.decisions[0].by.pk for one in refused} == {made.by.pk}
    assert StatusChange.objects.get(user=user) == made
