"""The list of all users, and its actions."""

from collections.abc import Callable
from html import unescape
from typing import Any

import pytest
from django.contrib.messages import get_messages
from django.db import OperationalError
from django.test import Client
from psycopg.errors import LockNotAvailable

from backoffice.users import user_admin
from partners.models import Partner
from staff.models import Staff
from tests import factories
from tests.support.staff import client_as, client_of, context_of
from users import claims
from users.models import Status, User

USERS = "/admin/users/user/"
PENDING = f"{USERS}?status__exact=pendingCompliance"
Make = Callable[..., User]


@pytest.fixture
def make(partner: Partner) -> Make:
    return lambda **fields: factories.UserFactory.create(partner=partner, **fields)


def act(staff: Staff, action: str, *users: User, **fields: str) -> list[str]:
    """What staff are told after an action on these rows."""
    body = {"action": action, "_selected_action": [str(user.pk) for user in users]} | fields
    response = client_of(staff).post(USERS, body)
    assert response.headers["Location"] == USERS
    return [str(message) for message in get_messages(response.wsgi_request)]


# The list


def page(client: Client, address: str) -> str:
    return unescape(client.get(address).content.decode())


def test_a_row_says_who_whose_in_which_status_and_how_long_they_have_waited(make: Make, reviewer: Staff) -> None:
    waiting, active = make(first_name="Grace"), make(status=Status.ACTIVE)
    client = client_of(reviewer)
    text = page(client, f"{USERS}?q=byron")
    rows = {user: row for user in (waiting, active) for row in text.split("</tr>") if f"/cases/{user.pk}/" in row}
    for said in (waiting.full_name, waiting.partner.name, "Pending compliance", "0 min", "In time"):
        assert said in rows[waiting]
    assert 'class="bo-badge bo-good">Active<' in rows[active]
    # No target: nobody waits for a decision.
    assert "0 min" in rows[active]
    assert "In time" not in rows[active]
    # Lists of one status keep the search.
    assert 'href="?q=byron&status__exact=pendingCompliance"' in text
    assert 'value="claim_selected"' in text
    assert f'href="{PENDING}"' in text
    assert f'href="{USERS}identified/"' in text
    text = page(client, PENDING)
    assert f"/admin/cases/{waiting.pk}/" in text
    assert f"/admin/cases/{active.pk}/" not in text
    assert 'status__exact=pendingCompliance" aria-current="page"' in text
    assert 'href="?"' in text


def test_actions_and_the_link_to_the_users_who_wait_are_offered_to_who_may_decide(make: Make) -> None:
    make()
    offered = {}
    for role in ("viewer", "auditor", "reviewer", "superuser"):
        context = context_of(factories.StaffFactory.create(role=role if role != "superuser" else ""), USERS)
        links = [item["link"] for group in context["sidebar_navigation"] for item in group["items"]]
        form = context["action_form"]
        actions = {name for name, _title in form.fields["action"].choices if name} if form else set()
        offered[role] = (actions, PENDING in links, USERS in links)
    claim = {"claim_selected", "release_selected"}
    assert offered == {
        "viewer": (set(), False, True),
        "auditor": ({"export_selected"}, False, True),
        "reviewer": (claim, True, False),
        "superuser": (claim | {"export_selected"}, True, False),
    }


def test_a_users_only_page_is_the_case(make: Make) -> None:
    assert client_as("viewer").get(f"{USERS}{make().pk}/change/").status_code == 404


# Actions


def test_chosen_cases_are_claimed_and_given_back_and_each_refusal_is_told(make: Make, reviewer: Staff) -> None:
    free, held, decided = make(), make(), make(status=Status.ACTIVE)
    holder = factories.StaffFactory.create()
    claims.claim(user=held, staff=holder)
    body = {"action": "claim_selected", "_selected_action": [str(user.pk) for user in (free, held, decided)]}
    text = unescape(client_of(reviewer).post(USERS, body, follow=True).content.decode())
    assert "1 case is yours." in text
    assert f"{held.external_id}: {holder.username} has claimed this case." in text
    assert f"{decided.external_id}: This case is not waiting" in text
    assert claims.holder(free) == reviewer
    assert act(reviewer, "release_selected", free) == ["1 case is free."]
    assert claims.holder(free) is None


def test_a_user_who_is_being_changed_holds_up_no_other(
    make: Make, reviewer: Staff, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, locked, last = make(), make(), make()
    claim = claims.claim

    def waits(*, user: User, **arguments: Any) -> Any:
        if user == locked:
            raise OperationalError from LockNotAvailable()
        return claim(user=user, **arguments)

    monkeypatch.setattr(claims, "claim", waits)
    assert set(act(reviewer, "claim_selected", first, locked, last)) == {
        "2 cases are yours.",
        f"{locked.external_id}: The user is being changed right now: try again.",
    }
    assert [claims.holder(user) is None for user in (first, locked, last)] == [False, True, False]


def test_more_than_the_bound_is_refused_as_a_whole(
    make: Make, reviewer: Staff, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(user_admin, "MAX_SELECTED", 1)
    users = [make(), make()]
    for action in ("claim_selected", "release_selected"):
        assert act(reviewer, action, *users) == ["At most 1 at a time: 2 are chosen."]
    assert claims.holder(users[0]) is None


def test_an_action_takes_the_selected_rows_and_not_the_whole_list(make: Make, reviewer: Staff) -> None:
    user, other = make(), make()
    act(reviewer, "claim_selected", user, select_across="1")
    assert [claims.holder(one) is None for one in (user, other)] == [False, True]
