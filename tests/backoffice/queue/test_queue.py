"""The queue and the other work lists: who is on them, in which order, and for whose eyes."""

import re
from collections.abc import Callable
from datetime import datetime, timedelta
from html import unescape
from typing import Any
from urllib.parse import urlencode
from uuid import uuid4

import pytest
from django.contrib.messages import get_messages
from django.db import OperationalError, connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from psycopg.errors import QueryCanceled

from backoffice.lists import bounded_lists, waiting_time
from backoffice.users import filters as user_filters
from backoffice.users import user_admin
from partners.models import Mode, Partner
from staff.models import Staff
from tests import factories
from tests.support.client import PartnerClient
from tests.support.plans import UNORDERED, planning_without
from tests.support.staff import client_as, client_of, list_of, words
from users import claims, search
from users.decisions.compliance import Decision, decide
from users.models import Requirement, Status, User

Make = Callable[..., User]
QUEUE, CHANGES = "/admin/users/user/queue/", "/admin/users/user/changed/"
ANSWERED, ASKED = "/admin/users/user/answered/", "/admin/users/user/asked/"
USERS = "/admin/users/user/"


@pytest.fixture
def make(partner: Partner) -> Make:
    """Makes a user of `partner` in Ontario, whom nothing connects with others."""

    def create(external_id: str, **fields: Any) -> User:
        person = {"first_name": external_id.title(), "email": f"{external_id}@example.com"}
        place = {"province": "ON", "postal_code": "M5X 1A9"}
        return factories.UserFactory.create(
            **{"partner": partner, "external_id": external_id} | person | place | fields
        )

    return create


@pytest.fixture
def viewer(db: None) -> Staff:
    return factories.StaffFactory.create(role="viewer")


def page(client: Client, path: str = QUEUE, **query: str) -> str:
    response = client.get(path, query, follow=True)
    assert response.status_code == 200
    return unescape(response.content.decode())


def rows(text: str) -> dict[str, str]:
    """The rows of a page by their externalIds, in their order."""
    found = [row.partition("</tr>")[0] for row in text.split("<tr")]
    names = [re.findall(r'<span class="bo-quiet bo-below-name">([^<]+) · ', row) for row in found]
    return {name[0]: row for name, row in zip(names, found, strict=True) if name}


def listed(staff: Staff, path: str = QUEUE, **query: Any) -> list[str]:
    """The externalIds of a list, in their order, as its view finds them."""
    return [user.external_id for user in list_of(staff, path, **query).result_list]


# Who sees what

PRIVATE = re.compile("1990|King St|H3B|Toronto")


@pytest.fixture
def claimed(make: Make, reviewer: Staff) -> User:
    """A CIRO affiliate with a postal code of another province, whom `reviewer` has claimed."""
    user = make("affiliate", is_ciro_affiliate=True, postal_code="H3B 2Y5")
    claims.claim(user=user, staff=reviewer)
    return user


def test_a_reviewer_reads_the_risk_flags_by_weight_what_they_mean_and_whom_they_have_claimed(
    claimed: User, reviewer: Staff
) -> None:
    text = page(client_of(reviewer))
    head, row = words(text.partition("<tbody")[0]), rows(text)[claimed.external_id]
    assert "To check Postal code outside the province" in words(row)
    assert "Harmless CIRO affiliate" in words(row)
    assert ">You</strong>" in row
    assert "What the risk flags mean" in head
    assert "Previously rejected Grave The user was rejected before" in head
    assert "your role" not in text.lower()
    assert not PRIVATE.findall(text)


@pytest.mark.parametrize(("role", "offered"), [("viewer", []), ("auditor", ["export_selected"])])
def test_who_only_reads_is_offered_nothing_that_changes_anything(
    role: str, offered: list[str], claimed: User, reviewer: Staff
) -> None:
    text = page(client_as(role))
    row = rows(text)[claimed.external_id]
    assert claimed.full_name in row
    assert reviewer.username in row
    assert "In time" in row
    assert not re.findall("Next case|/claim/", text)
    assert re.findall(r'<option value="(\w+_selected)"', text) == offered
    assert ('name="_selected_action"' in text) == bool(offered)


def test_a_list_says_that_the_role_does_not_see_all_risk_flags(make: Make) -> None:
    make("postal", postal_code="H3B 2Y5")
    text = page(client_as("viewer"))
    for said in (
        "None that your role sees",
        "Without risk flags that your role",
        "Your role does not see all risk flags.",
    ):
        assert said in words(text)
    assert "Postal code" not in words(text)
    assert not PRIVATE.findall(text)


def test_an_age_is_told_in_words() -> None:
    for hours, said in {1: "In time 1 h", 19: "Due soon 19 h", 25: "Late 1 d 1 h"}.items():
        cell = waiting_time.age_cell(timezone.now() - timedelta(hours=hours, minutes=1))
        assert words(cell).startswith(said)


# The partner's part


def later(monkeypatch: pytest.MonkeyPatch, *, hours: float) -> None:
    now = timezone.now() + timedelta(hours=hours, minutes=1)

    class Later:
        @staticmethod
        def now() -> datetime:
            return now

    for module in (waiting_time, user_filters, user_admin):
        monkeypatch.setattr(module, "timezone", Later)


def ask(user: User, **fields: Any) -> Requirement:
    return factories.RequirementFactory.create(user=user, **fields)


@pytest.fixture
def cases(make: Make) -> None:
    """Users who wait for us, or for their partner: of the active ones, too."""
    answered, _plain = make("answered"), make("plain")
    active = [make("active-answered", status=Status.ACTIVE), make("active-asked", status=Status.ACTIVE)]
    for user in (answered, active[0]):
        factories.answer(ask(user))
    for user, days in ((make("asked"), 30), (make("asked-soon"), 7), (active[1], 14)):
        ask(user, due_in_days=days)


@pytest.mark.usefixtures("cases")
def test_answered_cases_are_in_the_queue_and_those_that_wait_for_the_partner_apart(viewer: Staff) -> None:
    found = {
        (path, status): listed(viewer, path, status__exact=status)
        for path in (ANSWERED, ASKED)
        for status in ("", Status.ACTIVE, Status.SUSPENDED)
    }
    assert found == {
        (ANSWERED, ""): ["answered", "active-answered"],
        (ANSWERED, Status.ACTIVE): ["active-answered"],
        (ANSWERED, Status.SUSPENDED): [],
        # By when the answer is due.
        (ASKED, ""): ["asked-soon", "active-asked", "asked"],
        (ASKED, Status.ACTIVE): ["active-asked"],
        (ASKED, Status.SUSPENDED): [],
    }
    response = client_of(viewer).get(QUEUE)
    # The longest first: from the answer on.
    marked = {name: "mark_email_read" in row for name, row in rows(response.content.decode()).items()}
    assert list(marked.items()) == [("plain", False), ("answered", True)]
    assert [tab["count"] for tab in response.context["tabs"]][:3] == ["2", "2", "3"]


@pytest.mark.usefixtures("cases")
def test_an_answer_counts_against_the_target_and_nobody_is_late_while_the_partner_is_asked(
    viewer: Staff, monkeypatch: pytest.MonkeyPatch
) -> None:
    later(monkeypatch, hours=8 * 24)
    assert listed(viewer, ASKED, due="overdue") == ["asked-soon"]
    assert listed(viewer, ASKED, due="later") == ["active-asked", "asked"]
    assert listed(viewer, QUEUE, waiting="late") == ["plain", "answered"]
    assert listed(viewer, ANSWERED, waiting="late") == ["answered", "active-answered"]
    assert listed(viewer, ANSWERED, waiting="time") == []
    client = client_of(viewer)
    said: dict[str, dict[str, set[str]]] = {}
    for path in (ASKED, ANSWERED, f"{QUEUE}?q=byron", USERS):
        for name, row in rows(page(client, path)).items():
            said.setdefault(path, {})[name] = set(re.findall(">(Overdue|Late|Active|Waiting for the partner)<", row))
    assert said.pop(ASKED) == {"asked-soon": {"Overdue"}, "active-asked": {"Active"}, "asked": set()}
    assert said.pop(ANSWERED) == {"answered": {"Late"}, "active-answered": {"Late", "Active"}}
    for names in said.values():
        assert {name: texts - {"Active"} for name, texts in names.items()} == {
            "plain": {"Late"},
            "answered": {"Late"},
            "asked": {"Waiting for the partner"},
            "asked-soon": {"Waiting for the partner"},
            "active-answered": set(),
            "active-asked": set(),
        }


# Empty lists and refused queries


def test_an_empty_list_says_why(reviewer: Staff) -> None:
    client = client_of(reviewer)
    for path, query, said in (
        (QUEUE, {"p": "nonsense"}, "Nobody is waiting"),
        (QUEUE, {"q": "byron", "status__exact": "active"}, "No matches"),
        (ASKED, {"due": "overdue"}, "No matches"),
    ):
        assert said in page(client, path, **query), path
    for path, said in ((ANSWERED, "Nothing to read"), (ASKED, "No partner is asked"), (CHANGES, "Nobody has changed")):
        assert list_of(reviewer, path).texts.empty_title == said


def test_a_query_that_is_refused_ends_in_the_bare_list_and_says_why(
    make: Make, viewer: Staff, monkeypatch: pytest.MonkeyPatch
) -> None:
    def too_long(*_: Any, **__: Any) -> None:
        raise OperationalError from QueryCanceled()

    monkeypatch.setattr(search, "matches", too_long)
    for query, said in (
        ({"q": "a\0b"}, "Null characters are not allowed."),
        ({"q": "ada"}, "The search took too long."),
    ):
        response: Any = client_of(viewer).get(QUEUE, query)
        assert response.headers["Location"] == QUEUE
        assert str(*get_messages(response.wsgi_request)).startswith(said)
    make("grace")
    factories.PartnerFactory.create()
    # A viewer does not see the flag of the postal code, and so cannot filter by it.
    for name, value in (("partner__id__exact", "nonsense"), ("flags", "postalCode"), ("flags", "madeUp")):
        text = page(client_of(viewer), **{name: value})
        assert "Invalid filter." in text
        assert [*rows(text)] == ["grace"]


# Filters


def test_filters_narrow_the_list(make: Make, reviewer: Staff, viewer: Staff) -> None:
    mine, theirs = make("mine"), make("theirs")
    make("quebec", province="QC", postal_code="H3B 2Y5", is_ciro_affiliate=True)
    make("paris", country="FR", province="Paris", postal_code="75001")
    make("postal", postal_code="H3B 2Y5")
    others = make("others", partner=factories.PartnerFactory.create())
    make("active", status=Status.ACTIVE)
    factories.add_conversions(others, [timezone.now()], while_inactive=True)
    claims.claim(user=mine, staff=reviewer)
    claims.claim(user=theirs, staff=factories.StaffFactory.create())
    everyone = {"mine", "theirs", "quebec", "paris", "postal", "others"}
    expected: dict[tuple[Staff, str], set[str]] = {
        (viewer, ""): everyone,
        (viewer, f"partner__id__exact={mine.partner_id}"): everyone - {"others"},
        (viewer, "province=qc"): {"quebec"},
        (viewer, "country=fr"): {"paris"},
        (viewer, "is_ciro_affiliate__exact=1"): {"quebec"},
        (viewer, "is_ciro_affiliate__exact=0"): everyone - {"quebec"},
        # A search finds users of every status.
        (viewer, "q=byron"): everyone | {"active"},
        (viewer, "q=byron&status__exact=active"): {"active"},
        (viewer, "q=byron&status__exact=active&province=QC"): set(),
        (reviewer, "claimed=me"): {"mine"},
        (reviewer, "claimed=nobody"): everyone - {"mine", "theirs"},
        (viewer, "flags=yes"): {"quebec", "others"},
        (viewer, "flags=no"): everyone - {"quebec", "others"},
        (reviewer, "flags=yes"): {"quebec", "others", "postal"},
        (reviewer, "flags=ciroAffiliate"): {"quebec"},
        (reviewer, "flags=postalCode"): {"postal"},
        (reviewer, "flags=inactiveConversion"): {"others"},
    }
    found = {(staff, query): set(listed(staff, f"{QUEUE}?{query}")) for staff, query in expected}
    assert found == expected
    # No filter by a status that all have.
    for query, has_status in (("", False), ("q=a", True)):
        filters = list_of(viewer, f"{QUEUE}?{query}").filter_specs
        assert any("status__exact" in one.expected_parameters() for one in filters) is has_status


def test_by_waiting_time(make: Make, viewer: Staff, monkeypatch: pytest.MonkeyPatch) -> None:
    make("ada")
    for hours, state in ((1, "time"), (20, "soon"), (30, "late")):
        later(monkeypatch, hours=hours)
        assert [one for one in ("time", "soon", "late") if listed(viewer, waiting=one)] == [state]


def test_a_search_with_too_many_matches_is_cut_and_says_so(
    make: Make, viewer: Staff, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search, "MAX_PREFIX_MATCHES", 1)
    make("grace")
    make("ada")
    assert "Only the first 1 matches were examined." in page(client_of(viewer), q="byron")
    assert not search.is_cut("grace", Mode.LIVE, sees_identity=True)


# Long lists


def walked(staff: Staff, **query: str) -> list[list[str]]:
    """The pages of the queue, by following its links."""
    pages, following = [], f"?{urlencode(query)}"
    while following:
        changelist = list_of(staff, QUEUE + following)
        pages.append([user.external_id for user in changelist.result_list])
        following = changelist.next_page
    return pages


@pytest.mark.parametrize(
    "query", [{}, {"province": "ON"}, {"flags": "yes"}, {"q": "byron"}, {"claimed": "nobody"}], ids=str
)
def test_pages_hold_each_row_once(
    query: dict[str, str], make: Make, reviewer: Staff, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(user_admin.UserAdmin, "list_per_page", 2)
    # They share an e-mail address.
    for name in "abcd":
        make(name, email="ada@example.com")
    assert walked(reviewer, **query) == [["a", "b"], ["c", "d"]]


def test_a_page_begins_after_the_last_row_of_the_one_before_it_whoever_is_decided_meanwhile(
    make: Make, reviewer: Staff, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(user_admin.UserAdmin, "list_per_page", 2)
    first, *_others = [make(name) for name in "abcde"]
    following = list_of(reviewer, QUEUE).next_page
    factories.decide(first, Status.ACTIVE)
    response = client_of(reviewer).get(QUEUE + following)
    text = unescape(response.content.decode())
    assert [*rows(text)] == ["c", "d"]
    assert "First page" in text
    assert f'href="{response.context["cl"].next_page}" rel="next"' in text


def test_a_scan_stops_and_continues_from_there(make: Make, reviewer: Staff, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounded_lists, "MAX_EXAMINED_ROWS", 3)
    for name in "abc":
        make(name)
    make("last", province="QC", is_ciro_affiliate=True)
    for query in ({"province": "QC"}, {"flags": "yes", "province": "QC"}):
        assert walked(reviewer, **query) == [[], ["last"]]
    assert "Only a part of the list was examined." in page(client_of(reviewer), province="QC")


def test_ones_own_cases_and_conversions_while_not_active_are_found_however_far_back_the_user_is(
    make: Make, reviewer: Staff, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bounded_lists, "MAX_EXAMINED_ROWS", 2)
    *_others, mine, traded = [make(name) for name in ("one", "two", "mine", "traded")]
    claims.claim(user=mine, staff=reviewer)
    factories.add_conversions(traded, [timezone.now()], while_inactive=True)
    for path, query, found in (
        (QUEUE, {"claimed": "me", "province": "ON"}, mine),
        (QUEUE, {"flags": "inactiveConversion"}, traded),
        (USERS, {"flags": "inactiveConversion"}, traded),
    ):
        changelist = list_of(reviewer, path, **query)
        assert changelist.result_list == [found]
        assert not changelist.is_partial


def test_counting_stops(make: Make) -> None:
    for name in "abc":
        make(name)
    counts = [bounded_lists.bounded_count(User.objects.all(), limit) for limit in (2, 3)]
    assert [bounded_lists.count_text(count, limit) for count, limit in zip(counts, (2, 3), strict=True)] == ["2+", "3"]


def test_a_page_takes_as_many_statements_for_many_rows_as_for_few(make: Make, reviewer: Staff) -> None:
    client, counts = client_of(reviewer), []
    queries = ("", "flags=yes", "q=byron", "province=ON&claimed=nobody")
    for names in ("a", "bcd"):
        for name in names:
            # They share an e-mail address.
            make(f"{name}-free", email="ada@example.com")
            claims.claim(user=make(f"{name}-held", email="ada@example.com"), staff=factories.StaffFactory.create())
        sent = {}
        for query in queries:
            with CaptureQueriesContext(connection) as captured:
                client.get(f"{QUEUE}?{query}")
            sent[query] = len(captured)
        counts.append(sent)
    assert counts[0] == counts[1]
    assert max(counts[0].values()) <= 20


# What serves a statement


def test_a_page_is_a_range_of_an_index(make: Make, reviewer: Staff, subtests: pytest.Subtests) -> None:
    make("ada")
    for address, index in {
        QUEUE: "user_waiting",
        f"{QUEUE}?waiting=late": "user_waiting",
        f"{QUEUE}?province=ON": "user_waiting",
        ANSWERED: "user_answered",
        f"{ANSWERED}?waiting=late&country=CA": "user_answered",
        ASKED: "user_waiting_for_partner",
        f"{ASKED}?due=overdue": "user_waiting_for_partner",
        f"{ASKED}?status__exact=suspended": "user_waiting_for_partner",
        CHANGES: "user_identity_changed",
        USERS: "user_by_status",
        f"{USERS}?status__exact=active": "user_by_status",
        f"{USERS}?country=CA": "user_by_status",
    }.items():
        with subtests.test(address):
            changelist = list_of(reviewer, address)
            columns = {"status": "pendingCompliance", "id": uuid4()}
            position = tuple(columns.get(name.lstrip("-"), timezone.now()) for name in changelist.order)
            for users in (changelist.queryset, changelist.queryset.filter(changelist._range(position))):
                with planning_without(*UNORDERED):
                    plan = users[:51].explain()
                assert f"using {index}" in plan
                assert "Sort" not in plan
            assert re.search(r"Index Cond: .*ROW\(", plan)


# Looking again


def test_active_users_whose_name_changed_are_listed_until_the_next_decision(
    make: Make, api: PartnerClient, reviewer: Staff
) -> None:
    first, *_others = [make(name, status=Status.ACTIVE) for name in ("first", "second", "moved")]
    for name, changed in (("first", "lastName"), ("second", "lastName"), ("moved", "city")):
        assert api.patch(f"/v1/users/{name}", {changed: "Lovelace"}).status == 200
    # The latest change first.
    assert [*rows(page(client_of(reviewer), CHANGES))] == ["second", "first"]
    first.refresh_from_db()
    decide(Decision(user=first, to_status="suspended", by=reviewer, reason="A new name."))
    assert listed(reviewer, CHANGES) == ["second"]
