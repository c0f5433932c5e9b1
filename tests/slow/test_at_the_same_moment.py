"""People who press at the same moment: claims, decisions, and administrators who disable each other."""

from collections.abc import Iterator
from typing import Any

import pytest

from core.refusals import RefusedError
from partners.models import Partner
from staff import access as staff_access
from staff.models import Staff
from tests import factories
from tests.support.at_once import tried_at_once
from tests.users.deciding import version_of
from users import claims
from users.decisions.compliance import Decision, StaleError, decide
from users.models import AccessRecord, Claim, Status, StatusChange, User

PEOPLE = 4


def waiting(partner: Partner, number: int) -> list[User]:
    return [factories.UserFactory.create(partner=partner) for _ in range(number)]


def test_two_who_press_next_case_get_different_cases(committed_partner: Partner) -> None:
    waiting(committed_partner, 3 * PEOPLE)
    people = [factories.StaffFactory.create() for _ in range(PEOPLE)]
    for _ in range(3):
        got = tried_at_once(*(lambda person=person: claims.next_case(staff=person) for person in people))
        assert None not in got
        assert len({user.pk for user in got}) == PEOPLE
        assert [claims.holder(user) for user in got] == people


def test_somebody_who_presses_next_case_twice_gets_one(committed_partner: Partner) -> None:
    waiting(committed_partner, PEOPLE)
    person = factories.StaffFactory.create()
    got = tried_at_once(*(lambda: claims.next_case(staff=person) for _ in range(PEOPLE)))
    assert len({user.pk for user in got}) == 1
    assert Claim.objects.filter(staff=person).count() == 1


def test_the_last_case_is_given_to_one_alone(committed_partner: Partner) -> None:
    person = factories.StaffFactory.create()
    # Those that other tests have left.
    left = User.objects.filter(status=Status.PENDING_COMPLIANCE, claim=None)
    Claim.objects.bulk_create([Claim(user=user, staff=person) for user in left])
    (user,) = waiting(committed_partner, 1)
    people = [factories.StaffFactory.create() for _ in range(PEOPLE)]
    got = tried_at_once(*(lambda person=person: claims.next_case(staff=person) for person in people))
    assert [one for one in got if one] == [user]
    assert AccessRecord.objects.filter(user=user, kind="claimed").count() == 1


def test_of_those_who_claim_one_case_one_gets_it(committed_partner: Partner) -> None:
    (user,) = waiting(committed_partner, 1)
    people = [factories.StaffFactory.create() for _ in range(PEOPLE)]
    got = tried_at_once(*(lambda person=person: claims.claim(user=user, staff=person) for person in people))
    assert sum(isinstance(one, Claim) for one in got) == 1
    assert sum(isinstance(one, RefusedError) for one in got) == PEOPLE - 1
    assert AccessRecord.objects.filter(user=user).count() == 1


def test_of_concurrent_decisions_one_succeeds_and_the_others_name_who_decided(committed_partner: Partner) -> None:
    (user,) = waiting(committed_partner, 1)
    people = [factories.StaffFactory.create() for _ in range(PEOPLE)]
    asked: dict[str, Any] = {"expected_version": version_of(user), "to_status": Status.ACTIVE, "reason": "Papers seen."}
    got = tried_at_once(*(lambda by=by: decide(Decision(user=user, by=by, **asked)) for by in people))
    (made,) = [one for one in got if isinstance(one, StatusChange)]
    refused = [one for one in got if isinstance(one, StaleError)]
    assert len(refused) == PEOPLE - 1
    assert {one.changes["decisions"][0].by.pk for one in refused} == {made.by.pk}
    assert StatusChange.objects.get(user=user) == made


@pytest.fixture
def two(committed_partner: Partner) -> Iterator[list[Staff]]:
    """The only administrators there are, until the test ends."""
    staff_access.administrators().update(is_active=False)
    yield [factories.StaffFactory.create(role=staff_access.ADMINISTRATOR) for _number in range(2)]
    staff_access.administrators().update(is_active=False)


def test_one_of_two_administrators_who_disable_each_other_stays(two: list[Staff]) -> None:
    one, other = two
    got = tried_at_once(
        lambda: staff_access.disable(staff=one, reason="Told so.", by=other),
        lambda: staff_access.disable(staff=other, reason="Told so.", by=one),
    )
    [refused] = [said for said in got if isinstance(said, RefusedError)]
    assert "only active administrator" in str(refused)
    assert len(staff_access.administrators()) == 1
