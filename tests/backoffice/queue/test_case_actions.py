"""Deciding in the admin of users: its list and a user's page."""

import re
from collections.abc import Callable
from html import unescape
from typing import Any

import pytest
from django.db import OperationalError
from django.test import Client
from django.urls import reverse
from psycopg.errors import LockNotAvailable
from pytest_django import DjangoAssertNumQueries

from tests import factories
from tests.support.approval_rules import no_rules_left, set_rule
from tests.support.client import PartnerClient, Response
from tests.support.plans import UNORDERED, planning_without
from tests.support.staff import ROLES, client_as, client_of, hidden_version, words
from users.cases import claims
from users.decisions import bulk_approval, proposals
from users.models import Status, StatusChange, User

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


def page_of(user: User) -> str:
    return f"{USERS}{user.pk}/change/"


def text_of(client: Client, path: str) -> str:
    return unescape(client.get(path).content.decode())


def act(client: Client, action: str, *users: User, **fields: str) -> str:
    """What the list says after an action on these rows."""
    body = {"action": action, "_selected_action": [str(user.pk) for user in users]} | fields
    return unescape(client.post(USERS, body, follow=True).content.decode())


def confirm(client: Client, page: str, **fields: str) -> str:
    """What is said after the form of the page that asks for the reason."""
    chosen = re.findall(r'name="chosen" value="([^"]*)"', page)
    ids = re.findall(r'name="_selected_action" value="([^"]*)"', page)
    body = {"action": "approve_selected", "confirmed": "yes", "chosen": chosen, "_selected_action": ids}
    return unescape(client.post(USERS, body | {"reason_code": "verified", "note": ""} | fields).content.decode())


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
    assert "0 min" not in rows[f"Ada {active.last_name}"]


def test_the_list_leads_to_those_of_one_status_and_keeps_the_search(make: Make) -> None:
    waiting, active = make(), make()
    factories.decide(active, Status.ACTIVE)
    client = client_as("viewer")
    page = text_of(client, f"{USERS}?q={waiting.external_id}")
    assert f'href="?q={waiting.external_id}&status__exact=pendingCompliance"' in page
    found = client.get(f"{USERS}?status__exact=pendingCompliance")
    assert [user.pk for user in found.context["cl"].result_list] == [waiting.pk]
    assert 'status__exact=pendingCompliance" aria-current="page"' in unescape(found.content.decode())


@pytest.mark.parametrize("query", ["", "?status__exact=pendingCompliance", "?country=CA"])
def test_the_list_is_walked_by_its_index(query: str, make: Make) -> None:
    make()
    rows = client_as("viewer").get(USERS + query).context["cl"].queryset[:51]
    with planning_without(*UNORDERED):
        plan = rows.explain()
    assert "using user_by_status" in plan
    assert "Sort" not in plan


@pytest.mark.parametrize("role", sorted(READERS))
def test_actions_are_offered_to_who_may_decide(role: str, make: Make) -> None:
    make()
    page = text_of(client_as(role), USERS)
    for action in ("claim_selected", "release_selected", "approve_selected"):
        assert (f'value="{action}"' in page) is (role in DECIDERS)


@pytest.mark.parametrize("role", sorted({*ROLES} - DECIDERS))
def test_nobody_else_acts(role: str, make: Make) -> None:
    user = make()
    client = client_as(role)
    for action in ("claim_selected", "approve_selected"):
        client.post(
            USERS,
            {"action": action, "_selected_action": str(user.pk), "chosen": str(user.pk), "reason_code": "verified"},
        )
    assert claims.holder(user) is None
    assert not StatusChange.objects.exists()


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


@pytest.mark.parametrize("role", sorted(DECIDERS))
def test_chosen_users_are_approved_for_a_reason(role: str, make: Make) -> None:
    first, second, other = make(), make(), make()
    client = client_as(role)
    page = act(client, "approve_selected", first, second)
    assert not StatusChange.objects.exists()
    assert "2 users were approved" in confirm(client, page)
    assert {change.user for change in StatusChange.objects.filter(reason_code="verified")} == {first, second}
    other.refresh_from_db()
    assert other.status == "pendingCompliance"


def test_without_a_reason_nobody_is_approved(make: Make) -> None:
    client = client_as("reviewer")
    page = act(client, "approve_selected", make())
    again = confirm(client, page, reason_code="")
    assert "Choose a reason." in again
    assert not StatusChange.objects.exists()
    assert "1 user was approved" in confirm(client, again)


def test_the_list_approves_by_the_rules_of_the_queue(make: Make, api: PartnerClient) -> None:
    flagged, edited = make(province="ON", postalCode="H3B 2Y5"), make()
    client = client_as("reviewer")
    page = act(client, "approve_selected", flagged, edited)
    assert "not opened yet" in page
    api.patch(f"/v1/users/{edited.external_id}", {"city": "Ottawa"})
    report = confirm(client, page)
    assert "nobody who may decide has seen" in report
    assert "Changed since you loaded the page: City." in report
    assert not StatusChange.objects.exists()


def test_more_than_the_bound_is_refused_as_a_whole(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bulk_approval, "MAX_CASES", 1)
    users, client = [make(), make()], client_as("reviewer")
    for action in ("claim_selected", "approve_selected"):
        assert "At most 1 at a time: 2 are chosen." in act(client, action, *users)
    assert claims.holder(users[0]) is None


def test_an_action_takes_the_selected_rows_and_not_the_whole_list(make: Make) -> None:
    user, other = make(), make()
    act(client_as("reviewer"), "claim_selected", user, select_across="1")
    assert [claims.holder(one) is None for one in (user, other)] == [False, True]


def test_the_page_that_asks_takes_as_many_statements_for_many_users_as_for_one(
    make: Make, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    client = client_as("reviewer")
    users = [make() for _ in range(4)]
    act(client, "approve_selected", users[0])
    for chosen in (users[:1], users):
        with django_assert_num_queries(12):
            act(client, "approve_selected", *chosen)


# A user's page


def test_a_users_page_is_named_by_the_name_but_not_in_the_window_s_title(make: Make) -> None:
    user = make(firstName="Grace", lastName="Hopper")
    page = text_of(client_as("viewer"), page_of(user))
    heading = re.search(r"<h1.*?</h1>", page, re.DOTALL)
    assert heading
    assert "Users" in heading[0]
    assert "Grace Hopper" in heading[0]
    assert "Hopper" not in page.partition("<title>")[2].partition("</title>")[0]


@pytest.mark.parametrize("role", sorted(READERS))
def test_a_users_page_leads_to_the_case(role: str, make: Make) -> None:
    user, client = make(), client_as(role)
    assert f'href="{USERS}{user.pk}/case/"' in text_of(client, page_of(user))
    response = client.get(f"{USERS}{user.pk}/case/")
    assert (response.status_code, response.headers["Location"]) == (302, f"/admin/cases/{user.pk}/")


def test_there_is_no_case_of_nonsense(db: None) -> None:
    assert client_as("reviewer").get(f"{USERS}nonsense/case/").status_code == 404


@pytest.mark.parametrize("role", sorted(READERS))
def test_who_may_decide_does_so_on_the_users_page(role: str, make: Make) -> None:
    user, client = make(), client_as(role)
    page = text_of(client, page_of(user))
    assert ("/decide/" in page) is (role in DECIDERS)
    if role not in DECIDERS:
        return
    fields = {
        "to_status": "rejected",
        "reason_code": "notVerified",
        "note": "No.",
        "then": "stay",
        "decided_on": "user",
    }
    fields["version"] = hidden_version(page, "/decide/")
    response = client.post(f"/admin/cases/{user.pk}/decide/", fields)
    assert (response.status_code, response.headers["Location"]) == (302, page_of(user))
    assert StatusChange.objects.get(user=user).reason == "No."
    assert "Rejected" in text_of(client, page_of(user))


def test_what_somebody_else_works_on_is_not_decided_on_the_users_page(make: Make) -> None:
    user, holder = make(), factories.StaffFactory.create()
    claims.claim(user=user, staff=holder)
    page = text_of(client_as("superuser"), page_of(user))
    assert "/decide/" not in page
    assert f"{holder.username}</strong> has claimed this case" in page


def test_a_users_page_takes_as_many_statements_for_a_long_history_as_for_a_short_one(
    make: Make, api: PartnerClient, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    user, client = make(), client_as("reviewer")
    client.get(page_of(user))
    for city in ("Ottawa", "Toronto", "Ottawa"):
        api.patch(f"/v1/users/{user.external_id}", {"city": city})
        with django_assert_num_queries(19):
            client.get(page_of(user))


def test_the_button_that_closes_an_account_is_not_named_as_the_one_that_leaves_the_page(make: Make) -> None:
    user = make()
    factories.decide(user, Status.ACTIVE)
    page = text_of(client_as("reviewer"), page_of(user))
    labels = [words(label) for label in re.findall(r"<(?:a|button)\b[^>]*>(.*?)</(?:a|button)>", page, re.DOTALL)]
    assert "Close account" in labels
    assert labels.count("Close") <= 1
    assert len([label for label in labels if label.startswith("Close account, ")]) == 2


def test_a_decision_that_was_refused_still_comes_back_to_the_users_page(make: Make) -> None:
    user, client = make(), client_as("reviewer")
    sent = {"to_status": "active", "reason_code": "", "note": "", "then": "stay", "decided_on": "user"}
    sent["version"] = hidden_version(text_of(client, page_of(user)), "/decide/")
    refused = client.post(f"/admin/cases/{user.pk}/decide/", sent)
    assert refused.status_code == 422
    page = unescape(refused.content.decode())
    assert 'name="decided_on" value="user"' in page
    assert 'name="decided_on"' not in text_of(client, f"/admin/cases/{user.pk}/")


def test_a_proposal_that_is_declined_on_the_users_page_leads_back_to_it(make: Make) -> None:
    user, reviewer = make(), factories.StaffFactory.create(role="reviewer")
    with no_rules_left():
        set_rule("always")
        proposal = proposals.propose(user=user, to_status=Status.ACTIVE, by=reviewer, reason="Seen.")
        client = client_of(reviewer)
        form = text_of(client, page_of(user)).partition("/proposal/decline/")[2].partition("</form>")[0]
        assert 'name="decided_on" value="user"' in form
        sent = {"proposal": str(proposal.pk), "note": "Not yet.", "decided_on": "user"}
        response = client.post(reverse("backoffice_decline_proposal", args=(user.pk,)), sent)
        assert response.headers["Location"] == page_of(user)


@pytest.mark.parametrize("role", sorted(READERS))
def test_the_history_of_a_users_page_is_that_of_the_profile(role: str, make: Make) -> None:
    user, client = make(), client_as(role)
    make()
    history = f"{USERS}{user.pk}/history/"
    assert (f'href="{history}"' in text_of(client, page_of(user))) is (role != "viewer")
    response = client.get(history)
    if role == "viewer":
        assert response.status_code == 403
        return
    assert (response.status_code, response.headers["Location"]) == (302, f"/admin/users/userevent/?q={user.pk}")
    found = client.get(response.headers["Location"]).context["cl"].result_list
    assert {event.pgh_obj_id for event in found} == {user.pk}


def test_the_report_leads_back_to_the_list_that_the_choices_came_from(make: Make) -> None:
    client = client_as("reviewer")
    report = confirm(client, act(client, "approve_selected", make()))
    assert f'href="{USERS}">Back to the list<' in report
    assert "Back to the queue" not in report


@pytest.mark.parametrize("role", sorted(READERS))
def test_the_sidebar_leads_those_who_may_decide_to_the_users_who_wait(role: str, make: Make) -> None:
    waiting, active = make(), make()
    factories.decide(active, Status.ACTIVE)
    client = client_as(role)
    pending = f"{USERS}?status__exact=pendingCompliance"
    page = text_of(client, "/admin/users/queueduser/")
    assert (f'href="{pending}"' in page) is (role in DECIDERS)
    assert (f'href="{USERS}"' in page) is (role not in DECIDERS)
    if role in DECIDERS:
        found = client.get(pending)
        assert [user.pk for user in found.context["cl"].result_list] == [waiting.pk]
        assert 'href="?"' in unescape(found.content.decode())


def test_decisions_are_shown_in_words(make: Make) -> None:
    user, client = make(), client_as("reviewer")
    page = act(client, "approve_selected", user)
    confirm(client, page)
    change = StatusChange.objects.get(user=user)
    decisions = "/admin/users/statuschange/"
    shown = [text_of(client, path) for path in (decisions, f"{decisions}{change.pk}/change/", page_of(user))]
    # Not a second time as a note, though the label's text is what is kept; the list's filter has it too.
    assert [words(text).count("Identity and address verified") for text in shown] == [2, 1, 1]
    assert "<title>Pending compliance → Active" in " ".join(shown[1].split()).replace("<title> ", "<title>")
    assert not any("pendingCompliance →" in text for text in shown)
    tables = [words(heading) for heading in re.findall(r"<h2>(.*?)</h2>", shown[2], re.DOTALL)]
    assert {"Decisions", "Profile history"} <= set(tables)
