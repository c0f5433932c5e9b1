"""Claims: who takes a case, who gives it back, and what is kept of it."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.messages import get_messages
from django.utils import timezone

from core.refusals import RefusedError
from partners.models import Partner
from staff.models import Staff
from tests import factories
from tests.support.staff import client_as, client_of
from users import claims
from users.decisions.compliance import Decision, decide
from users.models import AccessRecord, Claim, Status, User

Make = Callable[..., User]
NEXT = "/admin/cases/next/"


@pytest.fixture
def make(partner: Partner) -> Make:
    def create(**columns: str) -> User:
        made: User = factories.UserFactory.create(partner=partner, **columns)
        return made

    return create


def url(user: User, action: str) -> str:
    return f"/admin/cases/{user.pk}/{action}/"


def said(response: Any) -> str:
    """The message that the next page shows."""
    [message] = get_messages(response.wsgi_request)
    return str(message)


def kept(user: User) -> list[tuple[str, str]]:
    """What the access log holds of a user, short of who opened it: what, and by whom; oldest first."""
    records = AccessRecord.objects.filter(user=user).exclude(kind="opened").order_by("id")
    return [(record.kind, record.staff.username) for record in records]


def test_the_next_case_is_the_one_that_has_waited_longest(make: Make, reviewer: Staff) -> None:
    first, second = make(), make()
    others = [reviewer, factories.StaffFactory.create(), factories.StaffFactory.create()]
    assert [claims.next_case(staff=staff) for staff in others] == [first, second, None]


def test_the_next_case_is_first_the_one_in_hand(make: Make, reviewer: Staff) -> None:
    older, mine = make(), make()
    claims.claim(user=mine, staff=reviewer)
    assert claims.next_case(staff=reviewer) == mine
    response = client_of(reviewer).post(NEXT)
    assert response.headers["Location"] == f"/admin/cases/{mine.pk}/"
    assert "You hold this case" in said(response)
    assert claims.holder(older) is None
    decide(Decision(user=mine, to_status=Status.ACTIVE, by=reviewer, reason="Papers seen."))
    assert claims.next_case(staff=reviewer) == older


def test_of_several_cases_in_hand_the_longest_waiting_comes_first(make: Make, reviewer: Staff) -> None:
    first, second = make(), make()
    for user in (second, first):
        claims.claim(user=user, staff=reviewer)
    assert claims.next_case(staff=reviewer) == first


def test_a_claim_on_an_active_user_is_no_case_in_hand(make: Make, reviewer: Staff) -> None:
    changed, waiting = make(status=Status.ACTIVE), make()
    User.objects.filter(pk=changed.pk).update(last_name="King")
    claims.claim(user=changed, staff=reviewer)
    assert claims.next_case(staff=reviewer) == waiting


def test_the_next_case_passes_over_what_is_claimed_or_decided(make: Make, reviewer: Staff) -> None:
    claimed, _decided, free = make(), make(status=Status.ACTIVE), make()
    claims.claim(user=claimed, staff=factories.StaffFactory.create())
    assert claims.next_case(staff=reviewer) == free


def test_pressing_next_case_opens_what_it_claimed_and_says_where_no_case_is_free(make: Make, reviewer: Staff) -> None:
    user = make()
    response = client_of(reviewer).post(NEXT)
    assert (response.status_code, response.headers["Location"]) == (302, f"/admin/cases/{user.pk}/")
    assert claims.holder(user) == reviewer
    assert kept(user) == [("claimed", reviewer.username)]
    assert "No case is free" in said(client_as("reviewer").post(NEXT))


def test_a_claim_records_the_request(make: Make, reviewer: Staff) -> None:
    user = make()
    response = client_of(reviewer).post(url(user, "claim"))
    record = AccessRecord.objects.get(user=user)
    assert record.request_id == response.headers["X-Request-Id"]


def test_claiming_twice_changes_nothing(make: Make, reviewer: Staff) -> None:
    user = make()
    assert claims.claim(user=user, staff=reviewer) == claims.claim(user=user, staff=reviewer)
    assert kept(user) == [("claimed", reviewer.username)]


def test_what_somebody_holds_nobody_else_claims(make: Make, reviewer: Staff) -> None:
    user = make()
    claims.claim(user=user, staff=reviewer)
    assert said(client_as("reviewer").post(url(user, "claim"))) == f"{reviewer.username} has claimed this case."
    assert claims.holder(user) == reviewer


def test_a_case_that_does_not_wait_is_not_claimed(make: Make, reviewer: Staff) -> None:
    with pytest.raises(RefusedError, match="not waiting"):
        claims.claim(user=make(status=Status.ACTIVE), staff=reviewer)


def test_a_released_case_is_free_again(make: Make, reviewer: Staff) -> None:
    user = make()
    claims.claim(user=user, staff=reviewer)
    client_of(reviewer).post(url(user, "release"))
    assert claims.holder(user) is None
    assert kept(user) == [("claimed", reviewer.username), ("released", reviewer.username)]
    assert claims.next_case(staff=factories.StaffFactory.create()) == user


def test_releasing_what_nobody_holds_changes_nothing(make: Make, reviewer: Staff) -> None:
    user = make()
    claims.release(user=user, staff=reviewer)
    assert kept(user) == []


def test_others_release_a_claim_only_once_it_is_old(
    make: Make, reviewer: Staff, monkeypatch: pytest.MonkeyPatch
) -> None:
    user, other = make(), factories.StaffFactory.create()
    claims.claim(user=user, staff=reviewer)
    with pytest.raises(RefusedError, match="8 hours"):
        claims.release(user=user, staff=other)
    later = timezone.now() + claims.HELD_FOR
    monkeypatch.setattr(timezone, "now", lambda: later + timedelta(minutes=1))
    claims.release(user=user, staff=other)
    assert AccessRecord.objects.get(user=user, kind="released").detail == f"Held by {reviewer.username}."


def test_the_claim_of_a_closed_account_is_released_by_anybody(make: Make, reviewer: Staff) -> None:
    user = make()
    claims.claim(user=user, staff=reviewer)
    Staff.objects.filter(pk=reviewer.pk).update(is_active=False)
    claims.release(user=user, staff=factories.StaffFactory.create())
    assert claims.holder(user) is None


def test_a_decision_ends_the_claim(make: Make, reviewer: Staff) -> None:
    user = make()
    claims.claim(user=user, staff=reviewer)
    decide(Decision(user=user, to_status=Status.REJECTED, by=reviewer, reason="No."))
    assert not Claim.objects.exists()
