"""The back office of users: contract, section 8."""

import itertools
from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.admin import site
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from backoffice.lists import bounded_lists
from tests import factories
from tests.support.client import Response
from tests.support.staff import client_as, words
from users.models import Status, User, UserEvent

USERS = "/admin/users/user/"
CHANGES = "/admin/users/statuschange/"
EVENTS = "/admin/users/userevent/"
CONVERSIONS, DOCUMENTS = "/admin/transactions/conversion/", "/admin/transactions/document/"


def test_the_case_leads_to_its_lists_which_the_reader_may_see(user: User) -> None:
    for role, lists in {"viewer": [CHANGES], "reviewer": [EVENTS, CHANGES]}.items():
        page = client_as(role).get(f"/admin/cases/{user.pk}/").content.decode()
        assert [one for one in (EVENTS, CHANGES) if f'{one}?q={user.pk}"' in page] == lists


# Finding


def test_the_end_of_a_value_finds_no_history(user: User) -> None:
    page = client_as("reviewer").get(EVENTS, {"q": user.external_id[1:]})
    assert not page.context["cl"].result_list


def test_filters_narrow_the_list(user: User, create_user: Callable[..., Response]) -> None:
    american = create_user(country="US", province="NY", postalCode="10001").json()["userId"]
    client = client_as("reviewer")

    def found(**query: str) -> set[str]:
        return {str(row.pk) for row in client.get(USERS, query).context["cl"].result_list}

    assert found(country="us") == {american}
    assert found(partner__id__exact=str(user.partner_id)) == {american, str(user.pk)}
    assert found(status__exact="active") == set()
    assert found(country="us", status__exact="pendingCompliance", q=american) == {american}


ODD = ("' OR 1=1 --%🦉\n", "{12345678-1234-5678-1234-567812345678}", "9" * 40, "-1")
LISTS = (
    USERS,
    "/admin/users/user/queue/",
    "/admin/users/user/changed/",
    CHANGES,
    EVENTS,
    CONVERSIONS,
    DOCUMENTS,
    "/admin/staff/staff/",
    "/admin/auth/group/",
    "/admin/core/auditentry/",
    "/admin/partners/partner/",
    "/admin/partners/apikey/",
    "/admin/users/accessrecord/",
)


NAMES = (
    *("q", "p", "country", "status__exact", "partner__id__exact", "partner__isnull", "groups__id__exact", "user"),
    *("is_active__exact", "created_at__gte", "enabled__exact", "id__lt", "o", "e", "all", "_facets", "odd"),
)


def test_no_odd_request_is_a_crash(user: User, subtests: pytest.Subtests) -> None:
    client = client_as("superuser")
    client.raise_request_exception = False
    # One name at a time: the first that is refused would hide the others. All values on one list of each kind.
    all_odd = [{name: value} for name, value in itertools.product(NAMES, ODD)]
    each_name = [{name: value} for name, value in zip(NAMES, itertools.cycle(ODD))]
    together = [{"q": value} for value in ODD] + [dict.fromkeys(NAMES[1:-5], ODD[0])]
    of_list = dict.fromkeys(LISTS, together) | {USERS: all_odd, EVENTS: each_name, "/admin/core/auditentry/": each_name}
    for list_url, queries in of_list.items():
        with subtests.test(list_url):
            for query in (*queries, {"q": "\0"}, {"q": "a" * 20_000}):
                assert client.get(list_url, query).status_code in {200, 302, 400}, query
            for pk in ("%00", "9" * 40):
                assert client.get(f"{list_url}{pk}/change/").status_code in {302, 404}


@pytest.mark.parametrize("lookup", ["email__startswith", "partner__api_keys__encrypted_secret__startswith", "city"])
def test_a_lookup_that_the_page_does_not_offer_is_refused(lookup: str, user: User) -> None:
    assert client_as("superuser").get(USERS, {lookup: "a"}).status_code == 400


def test_staff_cannot_be_filtered_by_their_passwords(user: User) -> None:
    assert client_as("administrator").get("/admin/staff/staff/", {"password__startswith": "p"}).status_code == 400


# Bounds


@pytest.mark.parametrize("list_url", [USERS, CHANGES, EVENTS, CONVERSIONS, DOCUMENTS])
def test_a_list_takes_as_many_statements_for_many_rows_as_for_one(
    list_url: str, create_user: Callable[..., Response]
) -> None:
    client, counts = client_as("reviewer"), []
    client.get(list_url)
    for number in (1, 4):
        for _ in range(number):
            user = User.objects.get(pk=create_user().json()["userId"])
            factories.decide(user, Status.ACTIVE)
            factories.ConversionFactory.create(user=user)
            factories.DocumentFactory.create(user=user)
        with CaptureQueriesContext(connection) as sent:
            assert client.get(list_url).context["cl"].result_list
        counts.append(len(sent))
    # Session, staff, two of permissions, partners, rows, and who or what they name.
    assert counts[0] == counts[1] <= 8


def test_a_list_counts_to_its_limit_and_continues_after_the_last_row_of_a_page(
    create_user: Callable[..., Response], monkeypatch: pytest.MonkeyPatch
) -> None:
    users = {create_user().json()["userId"] for _ in range(5)}
    monkeypatch.setattr(bounded_lists.KeysetChangeList, "max_count", 3)
    monkeypatch.setattr(bounded_lists, "MAX_COUNT", 3)
    client = client_as("reviewer")
    for list_url, query in ((USERS, "?status__exact=pendingCompliance"), (USERS, ""), (EVENTS, "")):
        monkeypatch.setattr(site.get_model_admin(UserEvent if list_url == EVENTS else User), "list_per_page", 4)
        first = client.get(list_url + query)
        assert "More than 3" in first.content.decode()
        second = client.get(list_url + first.context["cl"].next_page)
        pages = [first.context["cl"].result_list, second.context["cl"].result_list]
        assert [len(page) for page in pages] == [4, 1]
        assert {str(getattr(row, "pgh_obj_id", row.pk)) for page in pages for row in page} == users
        assert not second.context["cl"].next_page


def foot_of(client: Client, path: str) -> str:
    return words(client.get(path).content.decode().partition('<p aria-live="polite">')[2].partition("</p>")[0])


def test_the_foot_of_a_list_counts_entries_whatever_the_list_is_called(
    create_user: Callable[..., Response],
) -> None:
    client = client_as("auditor")
    for number, text in enumerate(("0 entries", "1 entry · newest first", "2 entries · newest first")):
        assert foot_of(client, EVENTS) == text, number
        create_user()
    assert foot_of(client, "/admin/users/statuschange/") == "0 entries"


def number_of(page: Any, column: str) -> int:
    """The number by which the list's address names this column."""
    changelist = page.context["cl"]
    return [bounded_lists.column_name(one) for one in changelist.list_display].index(column)


def test_a_header_without_an_index_does_not_sort(create_user: Callable[..., Response]) -> None:
    users = [create_user().json()["userId"] for _ in range(3)]
    client = client_as("reviewer")
    first = client.get(USERS)
    for order in (f"-{number_of(first, 'user')}", f"-{number_of(first, 'created_at')}", "-99", "odd", "-"):
        page = client.get(USERS, {"o": order})
        assert [str(row.pk) for row in page.context["cl"].result_list] == users
        assert "by status, in each the longest first" in page.content.decode()


def test_a_header_with_an_index_sorts_all_pages_both_ways(
    create_user: Callable[..., Response], monkeypatch: pytest.MonkeyPatch
) -> None:
    users = [create_user().json()["userId"] for _ in range(3)]
    monkeypatch.setattr(site.get_model_admin(User), "list_per_page", 2)
    client = client_as("reviewer")
    status = number_of(client.get(USERS), "status_badge")
    for order, wanted in ((f"{status}", users), (f"-{status}", users[::-1])):
        first = client.get(USERS, {"o": order})
        second = client.get(USERS + first.context["cl"].next_page)
        pages = (first.context["cl"].result_list, second.context["cl"].result_list)
        assert [str(row.pk) for page in pages for row in page] == wanted
        assert "longest first" not in first.content.decode()


@pytest.mark.parametrize("list_url", [CHANGES, EVENTS])
def test_decisions_and_history_can_be_read_from_their_beginning(list_url: str, user: User) -> None:
    factories.decide(user, Status.SUSPENDED)
    client = client_as("auditor")
    newest = client.get(list_url)
    oldest = client.get(list_url, {"o": number_of(newest, "when")})
    keys = [[row.pk for row in page.context["cl"].result_list] for page in (newest, oldest)]
    assert len(keys[0]) > 1
    assert keys[1] == keys[0][::-1]
