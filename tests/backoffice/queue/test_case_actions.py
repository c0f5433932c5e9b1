"""The list of all users, and its actions."""

import re
from collections.abc import Callable
from html import unescape
from typing import Any

import pytest
from django.db import OperationalError
from django.test import Client
from psycopg.errors import LockNotAvailable

from backoffice.users import user_admin
from tests import factories
from tests.support.client import Response
from tests.support.staff import client_as, client_of
from users import claims
from users.models import Status, User

USERS = "/admin/users/user/"
DECIDERS = {"reviewer", "superuser"}
READERS = {*DECIDERS, "viewer", "auditor"}
Make = Callable[..., User]


@pytest.fixture
def make(create_user: Callable[..., Response]) -> Make:
    def create(**fields: object) -> User:
        number = User.objects.count()
        person = {"email": f"ada-{number}@example.com", "lastName": f"Byron-{number}"} | fields
        return User.objects.get(pk=create_user(**person).json()["userId"])

    return create


def text_of(client: Client, path: str) -> str:
    return unescape(client.get(path).content.decode())


def act(client: Client, action: str, *users: User, **fields: str) -> str:
    """What the list says after an action on these rows."""
    body = {"action": action, "_selected_action": [str(user.pk) for user in users]} | fields
    return unescape(client.post(USERS, body, follow=True).content.decode())


# The list


def test_a_row_says_who_whose_in_which_status_and_how_long_they_have_waited(make: Make) -> None:
    waiting, active = make(firstName="Grace", lastName="Hopper"), make()
    factories.decide(active, Status.ACTIVE)
    page = text_of(client_as("viewer"), USERS)
    rows = {row: page.partition(row)[2].partition("</tr>")[0] for row in ("Grace Hopper", f"Ada {active.last_name}")}
    assert all(
        text in rows["Grace Hopper"] for text in (waiting.partner.name, "Pending compliance", "0 min", "In time")
    )
    assert re.search(r'class="bo-badge bo-good">Active<', rows[f"Ada {active.last_name}"])
    # No target: nobody waits for a decision.
    assert "0 min" in rows[f"Ada {active.last_name}"]
    assert "In time" not in rows[f"Ada {active.last_name}"]


def test_the_list_leads_to_those_of_one_status_and_keeps_the_search(make: Make) -> None:
    waiting, active = make(), make()
    factories.decide(active, Status.ACTIVE)
    client = client_as("viewer")
    page = text_of(client, f"{USERS}?q={waiting.external_id}")
    assert f'href="?q={waiting.external_id}&status__exact=pendingCompliance"' in page
    found = client.get(f"{USERS}?status__exact=pendingCompliance")
    assert [user.pk for user in found.context["cl"].result_list] == [waiting.pk]
    assert 'status__exact=pendingCompliance" aria-current="page"' in unescape(found.content.decode())


@pytest.mark.parametrize("role", sorted(READERS))
def test_actions_are_offered_to_who_may_decide(role: str, make: Make) -> None:
    make()
    page = text_of(client_as(role), USERS)
    for action in ("claim_selected", "release_selected"):
        assert (f'value="{action}"' in page) is (role in DECIDERS)


def test_chosen_cases_are_claimed_and_given_back_and_each_refusal_is_told(make: Make) -> None:
    free, held, decided = make(), make(), make()
    holder, reviewer = factories.StaffFactory.create(), factories.StaffFactory.create()
    claims.claim(user=held, staff=holder)
    factories.decide(decided, Status.ACTIVE)
    page = act(client_of(reviewer), "claim_selected", free, held, decided)
    assert "1 case is yours." in page
    assert f"{held.external_id}: {holder.username} has claimed this case." in page
    assert f"{decided.external_id}: This case is not waiting" in page
    assert claims.holder(free) == reviewer
    assert "1 case is free." in act(client_of(reviewer), "release_selected", free)
    assert claims.holder(free) is None


def test_a_user_who_is_being_changed_holds_up_no_other(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    first, locked, last = make(), make(), make()
    claim = claims.claim

    def waits(*, user: User, **arguments: Any) -> Any:
        if user == locked:
            raise OperationalError from LockNotAvailable()
        return claim(user=user, **arguments)

    monkeypatch.setattr(claims, "claim", waits)
    page = act(client_as("reviewer"), "claim_selected", first, locked, last)
    assert "2 cases are yours." in page
    assert f"{locked.external_id}: The user is being changed right now: try again." in page
    assert [claims.holder(user) is None for user in (first, locked, last)] == [False, True, False]


def test_more_than_the_bound_is_refused_as_a_whole(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(user_admin, "MAX_SELECTED", 1)
    users, client = [make(), make()], client_as("reviewer")
    for action in ("claim_selected", "release_selected"):
        assert "At most 1 at a time: 2 are chosen." in act(client, action, *users)
    assert claims.holder(users[0]) is None


def test_an_action_takes_the_selected_rows_and_not_the_whole_list(make: Make) -> None:
    user, other = make(), make()
    act(client_as("reviewer"), "claim_selected", user, select_across="1")
    assert [claims.holder(one) is None for one in (user, other)] == [False, True]


def test_a_users_only_page_is_the_case(make: Make) -> None:
    user, client = make(), client_as("viewer")
    assert f'href="/admin/cases/{user.pk}/"' in text_of(client, USERS)
    assert client.get(f"{USERS}{user.pk}/change/").status_code == 404


@pytest.mark.parametrize("role", sorted(READERS))
def test_the_sidebar_leads_those_who_may_decide_to_the_users_who_wait(role: str, make: Make) -> None:
    waiting, active = make(), make()
    factories.decide(active, Status.ACTIVE)
    client = client_as(role)
    pending = f"{USERS}?status__exact=pendingCompliance"
    page = text_of(client, "/admin/users/user/queue/")
    assert (f'href="{pending}"' in page) is (role in DECIDERS)
    assert (f'href="{USERS}"' in page) is (role not in DECIDERS)
    if role in DECIDERS:
        found = client.get(pending)
        assert [user.pk for user in found.context["cl"].result_list] == [waiting.pk]
        assert 'href="?"' in unescape(found.content.decode())
