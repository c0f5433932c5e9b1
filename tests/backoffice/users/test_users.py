"""The back office of users: contract, section 8."""

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest
from django.contrib.admin import site
from django.contrib.admin.options import IncorrectLookupParameters
from django.db import connection
from django.test.utils import CaptureQueriesContext

from backoffice.lists import bounded_lists
from partners.models import Partner
from staff.models import Staff
from tests import factories
from tests.support.staff import client_as, client_of, list_of, words
from users.models import Status, User, UserEvent

USERS = "/admin/users/user/"
CHANGES = "/admin/users/statuschange/"
EVENTS = "/admin/users/userevent/"
CONVERSIONS, DOCUMENTS = "/admin/transactions/conversion/", "/admin/transactions/document/"
LISTS = (
    *(USERS, f"{USERS}queue/", f"{USERS}asked/", f"{USERS}changed/"),
    *(CHANGES, EVENTS, CONVERSIONS, DOCUMENTS, "/admin/users/accessrecord/"),
    *("/admin/staff/staff/", "/admin/auth/group/", "/admin/core/auditentry/"),
    *("/admin/partners/partner/", "/admin/partners/apikey/"),
)


@pytest.fixture
def make(partner: Partner) -> Callable[..., User]:
    return lambda **fields: factories.UserFactory.create(partner=partner, **fields)


def test_the_case_leads_to_its_lists_which_the_reader_may_see(user: User) -> None:
    for role, lists in {"viewer": [CHANGES], "reviewer": [EVENTS, CHANGES]}.items():
        page = client_as(role).get(f"/admin/cases/{user.pk}/").content.decode()
        assert [one for one in (EVENTS, CHANGES) if f'{one}?q={user.pk}"' in page] == lists


# Finding


def test_filters_narrow_the_list(user: User, make: Callable[..., User], reviewer: Staff) -> None:
    american = make(country="US", province="NY", postal_code="10001")

    def found(**query: str) -> set[User]:
        return set(list_of(reviewer, USERS, **query).result_list)

    assert found(country="us") == {american}
    assert found(partner__id__exact=str(user.partner_id)) == {american, user}
    assert found(status__exact="active") == set()
    assert found(country="us", status__exact="pendingCompliance", q=str(american.pk)) == {american}


ODD = ("' OR 1=1 --%🦉\n", "9" * 40, "{12345678-1234-5678-1234-567812345678}", "-1")


def test_no_odd_request_is_a_crash(user: User, subtests: pytest.Subtests) -> None:
    staff = factories.StaffFactory.create(role="")
    client = client_of(staff, raise_request_exception=False)
    # A filter with one choice is none.
    factories.PartnerFactory.create()
    tried = set[tuple[type, str]]()
    for address in LISTS:
        changelist = list_of(staff, address)
        queries = [{"q": odd, "o": odd, "p": "~".join([odd] * len(changelist.order))} for odd in ODD]
        queries += [{"q": "a" * 20_000}]
        for one in changelist.filter_specs:
            # Each filter alone: the first that is refused would hide the others.
            for parameter in {(type(one), name) for name in one.expected_parameters()} - tried:
                tried.add(parameter)
                queries += [{parameter[1]: odd} for odd in (ODD if address == USERS else ODD[:2])]
        with subtests.test(address):
            for query in queries:
                # Which lead to the bare list.
                with suppress(IncorrectLookupParameters):
                    assert list_of(staff, address, **query), query
            for pk in ("%00", "9" * 40):
                assert client.get(f"{address}{pk}/change/").status_code in {302, 404}
    for address in (USERS, f"{USERS}queue/", "/admin/core/auditentry/"):
        assert client.get(address, dict.fromkeys("qpo", ODD[0])).status_code == 200
    for name in ("e", "all", "_facets", "partner__id__exact", "status__exact"):
        assert client.get(USERS, {name: ODD[0]}).status_code in {200, 302}, name


def test_a_lookup_that_a_list_does_not_offer_is_refused(user: User) -> None:
    client = client_as("superuser")
    for address, lookup in (
        (USERS, "email__startswith"),
        (USERS, "partner__api_keys__encrypted_secret__startswith"),
        (USERS, "city"),
        ("/admin/staff/staff/", "password__startswith"),
    ):
        assert client.get(address, {lookup: "a"}).status_code == 400, lookup


# Bounds


def test_a_list_takes_as_many_statements_for_many_rows_as_for_one(make: Callable[..., User], reviewer: Staff) -> None:
    client, counts = client_of(reviewer), []
    client.get(USERS)
    for number in (1, 2):
        for _ in range(number):
            user = make(status=Status.ACTIVE)
            factories.ConversionFactory.create(user=user)
            factories.DocumentFactory.create(user=user)
        sent = {}
        for address in (USERS, CHANGES, EVENTS, CONVERSIONS, DOCUMENTS):
            with CaptureQueriesContext(connection) as captured:
                assert client.get(address).context["cl"].result_list
            sent[address] = len(captured)
        counts.append(sent)
    assert counts[0] == counts[1]
    # Session, staff, two of permissions, partners, rows, and who or what they name.
    assert max(counts[0].values()) <= 8


def foot_of(staff: Staff, address: str) -> str:
    page = client_of(staff).get(address).content.decode()
    return words(page.partition('<p aria-live="polite">')[2].partition("</p>")[0])


def test_a_list_counts_to_its_limit_and_continues_after_the_last_row_of_a_page(
    make: Callable[..., User], reviewer: Staff, monkeypatch: pytest.MonkeyPatch
) -> None:
    users = {make().pk for _ in range(5)}
    monkeypatch.setattr(bounded_lists.KeysetChangeList, "max_count", 3)
    for model in (User, UserEvent):
        monkeypatch.setattr(site.get_model_admin(model), "list_per_page", 4)
    for address, query in ((USERS, "?status__exact=pendingCompliance"), (USERS, ""), (EVENTS, "")):
        first = list_of(reviewer, address + query)
        second = list_of(reviewer, address + first.next_page)
        pages = [first.result_list, second.result_list]
        assert [len(page) for page in pages] == [4, 1]
        assert {getattr(row, "pgh_obj_id", row.pk) for page in pages for row in page} == users
        assert not second.next_page
    assert foot_of(reviewer, EVENTS) == "More than 3 entries · newest first"


def test_the_foot_of_a_list_counts_entries_whatever_the_list_is_called(
    make: Callable[..., User], reviewer: Staff
) -> None:
    make()
    assert foot_of(reviewer, EVENTS) == "1 entry · newest first"
    make()
    assert foot_of(reviewer, EVENTS) == "2 entries · newest first"
    assert foot_of(reviewer, CHANGES) == "0 entries"


def number_of(changelist: Any, column: str) -> int:
    """The number by which the list's address names this column."""
    return [bounded_lists.column_name(one) for one in changelist.list_display].index(column)


def test_a_header_without_an_index_does_not_sort(make: Callable[..., User], reviewer: Staff) -> None:
    users = [make() for _ in range(2)]
    first = list_of(reviewer, USERS)
    for order in (f"-{number_of(first, 'user')}", f"-{number_of(first, 'created_at')}", "-99", "odd", "-"):
        changelist = list_of(reviewer, USERS, o=order)
        assert list(changelist.result_list) == users, order
        assert changelist.order_note == "by status, in each the longest first"


def test_a_header_with_an_index_sorts_all_pages_both_ways(
    make: Callable[..., User], reviewer: Staff, monkeypatch: pytest.MonkeyPatch
) -> None:
    users = [make() for _ in range(3)]
    monkeypatch.setattr(site.get_model_admin(User), "list_per_page", 2)
    status = number_of(list_of(reviewer, USERS), "status_badge")
    for order, wanted in ((f"{status}", users), (f"-{status}", users[::-1])):
        first = list_of(reviewer, USERS, o=order)
        second = list_of(reviewer, USERS + first.next_page)
        assert [*first.result_list, *second.result_list] == wanted
        assert not first.order_note


def test_decisions_and_history_can_be_read_from_their_beginning(make: Callable[..., User], reviewer: Staff) -> None:
    make(status=Status.SUSPENDED)
    for address in (CHANGES, EVENTS):
        newest = list_of(reviewer, address)
        oldest = list_of(reviewer, address, o=number_of(newest, "when"))
        keys = [[row.pk for row in changelist.result_list] for changelist in (newest, oldest)]
        assert len(keys[0]) > 1
        assert keys[1] == keys[0][::-1]
