"""People who press at the same moment: committed rows, and a connection each."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

from django.db import connection

from partners.models import Partner
from partners.refusals import RefusedError
from tests import factories
from users.cases import claims
from users.models import AccessRecord, Claim, Status, User

PEOPLE = 4


def waiting(partner: Partner, number: int) -> list[User]:
    return [factories.UserFactory.create(partner=partner) for _ in range(number)]


def at_once(*actions: Callable[[], Any]) -> list[Any]:
    """What each gives, or the refusal that it raised; all begin together."""
    barrier = Barrier(len(actions))

    def run(action: Callable[[], Any]) -> Any:
        try:
            connection.ensure_connection()
            barrier.wait()
            return action()
        except RefusedError as refusal:
            return refusal
        finally:
            connection.close()

    with ThreadPoolExecutor(len(actions)) as pool:
        return list(pool.map(run, actions))


def test_two_who_press_next_case_get_different_cases(committed_partner: Partner) -> None:
    waiting(committed_partner, 3 * PEOPLE)
    people = [factories.StaffFactory.create() for _ in range(PEOPLE)]
    for _ in range(3):
        got = at_once(*(lambda person=person: claims.next_case(staff=person) for person in people))
        assert None not in got
        assert len({user.pk for user in got}) == PEOPLE
        assert [claims.holder(user) for user in got] == people


def test_somebody_who_presses_next_case_twice_gets_one(committed_partner: Partner) -> None:
    waiting(committed_partner, PEOPLE)
    person = factories.StaffFactory.create()
    got = at_once(*(lambda: claims.next_case(staff=person) for _ in range(PEOPLE)))
    assert len({user.pk for user in got}) == 1
    assert Claim.objects.filter(staff=person).count() == 1


def test_the_last_case_is_given_to_one_alone(committed_partner: Partner) -> None:
    person = factories.StaffFactory.create()
    # Those that other tests have left.
    left = User.objects.filter(status=Status.PENDING_COMPLIANCE, claim=None)
    Claim.objects.bulk_create([Claim(user=user, staff=person) for user in left])
    (user,) = waiting(committed_partner, 1)
    people = [factories.StaffFactory.create() for _ in range(PEOPLE)]
    got = at_once(*(lambda person=person: claims.next_case(staff=person) for person in people))
    assert [one for one in got if one] == [user]
    assert AccessRecord.objects.filter(user=user, kind="claimed").count() == 1


def test_of_those_who_claim_one_case_one_gets_it(committed_partner: Partner) -> None:
    (user,) = waiting(committed_partner, 1)
    people = [factories.StaffFactory.create() for _ in range(PEOPLE)]
    got = at_once(*(lambda person=person: claims.claim(user=user, staff=person) for person in people))
    assert sum(isinstance(one, Claim) for one in got) == 1
    assert sum(isinstance(one, RefusedError) for one in got) == PEOPLE - 1
    assert AccessRecord.objects.filter(user=user).count() == 1
