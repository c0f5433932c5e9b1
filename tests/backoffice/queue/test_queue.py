"""The queue: who is on it, in which order, and for whose eyes."""

import re
from collections.abc import Callable
from datetime import datetime, timedelta
from html import unescape
from typing import Any
from uuid import uuid4

import pytest
from django.db import OperationalError, connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from psycopg.errors import QueryCanceled

from backoffice.lists import bounded_lists, waiting_time
from backoffice.users import filters as user_filters
from backoffice.users import user_admin
from core.database import serving_role
from tests import factories
from tests.support.client import PartnerClient, Response
from tests.support.plans import UNORDERED, planning_of_many_users, planning_without
from tests.support.staff import client_as, client_of, words
from users import claims
from users.decisions.compliance import Decision, decide
from users.models import Requirement, Status, User
from users.models.case import live
from users.search import _conditions, begins_with

Make = Callable[..., User]
QUEUE, CHANGES = "/admin/users/user/queue/", "/admin/users/user/changed/"
ANSWERED, ASKED = "/admin/users/user/answered/", "/admin/users/user/asked/"


@pytest.fixture
def make(create_user: Callable[..., Response]) -> Make:
    return lambda **fields: User.objects.get(pk=create_user(**fields).json()["userId"])


def page(client: Client, path: str = QUEUE, **filters: str) -> str:
    response = client.get(path, filters, follow=True)
    assert response.status_code == 200
    return unescape(response.content.decode())


def listed(client: Client, path: str = QUEUE, **filters: Any) -> list[str]:
    """The externalIds on the page, in their order."""
    return external_ids(page(client, path, **filters))


def external_ids(text: str) -> list[str]:
    return re.findall(r'<span class="bo-quiet bo-below-name">([^<]+) · [^<]+</span>', text)


def change_name(api: PartnerClient, user: User) -> None:
    assert api.patch(f"/v1/users/{user.external_id}", {"lastName": "Lovelace"}).status == 200


# Who sees what


@pytest.mark.parametrize(("role", "offered"), [("viewer", []), ("auditor", ["export_selected"])])
def test_who_only_reads_is_offered_nothing_that_changes_anything(role: str, offered: list[str], make: Make) -> None:
    make()
    text = page(client_as(role))
    assert "Ada Byron" in text
    assert not [word for word in ("Next case", "/claim/") if word in text]
    assert re.findall(r'<option value="(\w+_selected)"', text) == offered
    assert ('name="_selected_action"' in text) == bool(offered)


def test_nobody_reads_a_birth_date_or_an_address_in_the_queue(make: Make) -> None:
    make()
    for role in ("viewer", "reviewer"):
        text = page(client_as(role))
        assert not [private for private in ("1990", "King St", "M5X", "Toronto") if private in text]


# What is listed


def test_those_who_wait_are_listed_the_longest_first(make: Make) -> None:
    first, second, decided = make(), make(), make()
    factories.decide(decided, Status.ACTIVE)
    assert listed(client_as("viewer")) == [first.external_id, second.external_id]


@pytest.mark.parametrize(("hours", "label"), [(1, "In time"), (19, "Due soon"), (25, "Late")])
def test_the_age_is_told_in_words(hours: int, label: str, make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    make()
    later(monkeypatch, hours=hours)
    text = page(client_as("viewer"))
    assert label in text.partition("<tbody")[2]
    assert (f"{hours} h" if hours < 24 else "1 d 1 h") in text


def later(monkeypatch: pytest.MonkeyPatch, *, hours: float) -> None:
    now = timezone.now() + timedelta(hours=hours, minutes=1)

    class Later:
        @staticmethod
        def now() -> datetime:
            return now

    for module in (waiting_time, user_filters, user_admin):
        monkeypatch.setattr(module, "timezone", Later)


# The partner's part


def ask(user: User, **fields: Any) -> Requirement:
    return factories.RequirementFactory.create(user=user, **fields)


def test_answered_cases_are_in_the_queue_and_those_that_wait_for_the_partner_apart(make: Make) -> None:
    answered, asked, plain = make(), make(), make()
    ask(asked)
    factories.answer(ask(answered))
    client = client_as("viewer")
    # From the answer on.
    assert listed(client) == [plain.external_id, answered.external_id]
    rows = page(client).partition("<tbody")[2].split("<tr")
    assert [answered.external_id in row for row in rows if "mark_email_read" in row] == [True]
    assert listed(client, ANSWERED) == [answered.external_id]
    assert listed(client, ASKED) == [asked.external_id]
    assert [tab["count"] for tab in client.get(QUEUE).context["tabs"]][:3] == ["2", "1", "1"]


def test_both_lists_have_users_of_every_status(make: Make) -> None:
    asked, answered = make(), make()
    for user in (asked, answered):
        factories.decide(user, Status.SUSPENDED)
    ask(asked)
    factories.answer(ask(answered))
    client = client_as("viewer")
    assert listed(client) == []
    assert listed(client, ANSWERED, status__exact="suspended") == [answered.external_id]
    assert listed(client, ASKED, status__exact="suspended") == [asked.external_id]
    assert listed(client, ASKED, status__exact="active") == []
    assert "Suspended" in page(client, ASKED).partition("<tbody")[2]


def test_those_whose_partner_is_asked_are_listed_by_when_the_answer_is_due(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    late, soon = make(), make()
    ask(late, due_in_days=30)
    ask(soon, due_in_days=7)
    client = client_as("viewer")
    assert listed(client, ASKED) == [soon.external_id, late.external_id]
    assert "Overdue</span>" not in page(client, ASKED).partition("<tbody")[2]
    later(monkeypatch, hours=8 * 24)
    assert listed(client, ASKED, due="overdue") == [soon.external_id]
    assert listed(client, ASKED, due="later") == [late.external_id]
    assert page(client, ASKED).partition("<tbody")[2].count("Overdue</span>") == 1


def test_an_answer_counts_against_the_target_from_its_own_time_on(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    user = make()
    factories.answer(ask(user))
    client = client_as("viewer")
    later(monkeypatch, hours=25)
    for path in (QUEUE, ANSWERED):
        assert "Late" in page(client, path).partition("<tbody")[2]
        assert listed(client, path, waiting="late") == [user.external_id]
        assert listed(client, path, waiting="time") == []
    assert "Late" in page(client, "/admin/users/user/").partition("<tbody")[2]


def test_nobody_is_late_while_the_partner_is_asked(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    ask(make())
    later(monkeypatch, hours=25)
    client = client_as("viewer")
    users = page(client, "/admin/users/user/").partition("<tbody")[2]
    assert "Waiting for the partner" in users
    for text in (
        users,
        page(client, ASKED).partition("<tbody")[2],
        page(client, QUEUE, q="byron").partition("<tbody")[2].partition("</tbody>")[0],
    ):
        assert ">Late" not in text


def test_a_row_says_who_has_claimed_it(make: Make) -> None:
    reviewer, user = factories.StaffFactory.create(), make()
    claims.claim(user=user, staff=reviewer)
    assert reviewer.username in page(client_as("viewer")).partition("<tbody")[2]
    assert ">You</strong>" in page(client_of(reviewer))


def test_a_row_names_its_risk_flags_by_weight_and_the_head_explains_them(make: Make) -> None:
    make(isCiroAffiliate=True, province="ON", postalCode="H3B 2Y5")
    head, rows = (words(one) for one in page(client_as("reviewer")).split("<tbody", 1))
    assert "To check Postal code outside the province" in rows
    assert "Harmless CIRO affiliate" in rows
    assert "What the risk flags mean" in head
    assert "Previously rejected Grave The user was rejected before" in head
    assert "Postal code" not in words(page(client_as("viewer")))


def test_a_list_says_that_the_role_does_not_see_all_risk_flags(make: Make) -> None:
    make(province="ON", postalCode="H3B 2Y5")
    text = words(page(client_as("viewer")))
    for said in (
        "None that your role sees",
        "Without risk flags that your role",
        "Your role does not see all risk flags.",
    ):
        assert said in text
    text = words(page(client_as("reviewer")))
    assert "your role" not in text.lower()


@pytest.mark.parametrize(
    ("path", "filters", "said"),
    [
        (QUEUE, {}, "Nobody is waiting"),
        (ANSWERED, {}, "Nothing to read"),
        (ASKED, {}, "No partner is asked"),
        (ASKED, {"due": "overdue"}, "No matches"),
        (CHANGES, {}, "Nobody has changed"),
        (QUEUE, {"q": "nobody-at-all"}, "No matches"),
        (QUEUE, {"province": "PE"}, "No matches"),
        (QUEUE, {"q": "byron", "status__exact": "active"}, "No matches"),
        (QUEUE, {"q": "a\0b"}, "Null characters are not allowed."),
        (QUEUE, {"p": "nonsense"}, "Nobody is waiting"),
    ],
)
def test_an_empty_list_says_why(path: str, filters: dict[str, str], said: str, db: None) -> None:
    assert said in page(client_as("reviewer"), path, **filters)


def test_an_invalid_filter_ends_in_the_bare_list(make: Make, other_api: PartnerClient) -> None:
    user = make()
    other_api.post("/v1/users", factories.user_body(externalId="others"))
    text = page(client_as("viewer"), partner__id__exact="nonsense")
    assert "Invalid filter." in text
    assert user.external_id in text


# Filters


def test_filters_narrow_the_list(make: Make, other_api: PartnerClient) -> None:
    ontario = make(externalId="ontario")
    make(externalId="quebec", province="QC", postalCode="H3B 2Y5", isCiroAffiliate=True)
    make(externalId="paris", country="FR", province="Paris", postalCode="75001")
    other_api.post("/v1/users", factories.user_body(externalId="others"))
    factories.decide(make(externalId="active"), Status.ACTIVE)
    client = client_as("viewer")
    assert set(listed(client)) == {"ontario", "quebec", "paris", "others"}
    assert set(listed(client, partner__id__exact=ontario.partner_id)) == {"ontario", "quebec", "paris"}
    assert listed(client, province="qc") == ["quebec"]
    assert listed(client, country="fr") == ["paris"]
    assert listed(client, is_ciro_affiliate__exact="1") == ["quebec"]
    assert "quebec" not in listed(client, is_ciro_affiliate__exact="0")
    assert listed(client, q="byron", status__exact="active") == ["active"]
    assert listed(client, q="byron", status__exact="active", province="QC") == []
    # No filter by a status that all have.
    assert 'name="status__exact"' not in page(client)
    assert 'name="status__exact"' in page(client, q="a")


def test_by_waiting_time(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    user, client = make(), client_as("viewer")
    for hours, found, other in ((1, "time", "soon"), (20, "soon", "late"), (30, "late", "soon")):
        later(monkeypatch, hours=hours)
        assert listed(client, waiting=found) == [user.external_id]
        assert listed(client, waiting=other) == []


def test_by_who_has_claimed(make: Make) -> None:
    reviewer = factories.StaffFactory.create()
    mine, others, free = make(), make(), make()
    claims.claim(user=mine, staff=reviewer)
    claims.claim(user=others, staff=factories.StaffFactory.create())
    client = client_of(reviewer)
    assert listed(client, claimed="me") == [mine.external_id]
    assert listed(client, claimed="nobody") == [free.external_id]


def test_by_risk_flags(make: Make) -> None:
    make(externalId="affiliate", isCiroAffiliate=True, email="one@example.com", firstName="One")
    make(externalId="plain", email="two@example.com", firstName="Two")
    client = client_as("viewer")
    assert listed(client, flags="yes") == ["affiliate"]
    assert listed(client, flags="no") == ["plain"]


def test_by_one_risk_flag(make: Make) -> None:
    make(externalId="affiliate", isCiroAffiliate=True, email="one@example.com", firstName="One")
    make(externalId="postal", province="ON", postalCode="H3B 2Y5", email="two@example.com", firstName="Two")
    traded = make(externalId="traded", email="three@example.com", firstName="Three")
    factories.add_conversions(traded, [timezone.now()], while_inactive=True)
    client = client_as("reviewer")
    for code, external_id in (
        ("ciroAffiliate", "affiliate"),
        ("postalCode", "postal"),
        ("inactiveConversion", "traded"),
    ):
        assert listed(client, flags=code) == [external_id]
    assert len(listed(client, flags="madeUp")) == 3
    # A viewer does not see this flag, and so cannot filter by it.
    assert len(listed(client_as("viewer"), flags="postalCode")) == 3


def test_a_conversion_while_not_active_is_found_however_far_back_the_user_is(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bounded_lists, "MAX_EXAMINED_ROWS", 1)
    *_others, traded = [make() for _ in range(3)]
    factories.add_conversions(traded, [timezone.now()], while_inactive=True)
    client = client_as("viewer")
    assert listed(client, flags="inactiveConversion") == [traded.external_id]
    users = client.get("/admin/users/user/?flags=inactiveConversion").content.decode()
    assert traded.external_id in users
    assert "Only a part" not in users


def test_a_risk_flag_on_what_a_viewer_may_not_see_is_hidden(make: Make) -> None:
    make(province="ON", postalCode="H3B 2Y5")
    assert len(listed(client_as("reviewer"), flags="yes")) == 1
    assert listed(client_as("viewer"), flags="yes") == []


# Search


@pytest.mark.parametrize(
    "term", ["da-1", "xample.com", "ovelace", "lovelace grace", "v", "%", "_da", "'", "a & b", "😀"]
)
def test_a_search_finds_nothing_else(term: str, make: Make) -> None:
    make(externalId="ada-17", email="ada@example.com", lastName="Lovelace")
    assert listed(client_as("viewer"), q=term) == []


def test_filters_hold_for_a_search_too(make: Make) -> None:
    active, waiting = make(), make()
    factories.decide(active, Status.ACTIVE)
    client = client_as("viewer")
    assert set(listed(client, q="byron")) == {active.external_id, waiting.external_id}
    assert listed(client, q="byron", status__exact="active") == [active.external_id]


@pytest.mark.parametrize("last", ["a", "z", "é", "퟿", "\U0010ffff"])
def test_a_prefix_holds_for_any_last_character(last: str, db: None) -> None:
    with connection.cursor() as cursor:
        for text, begins in (
            (f"x{last}", True),
            (f"x{last}yz", True),
            (f"x{chr(ord(last) - 1)}z", False),
            ("y", False),
        ):
            condition: Any = begins_with("%s::text", f"x{last}")
            given = [value for bound in condition.params for value in (text, bound)]
            cursor.execute(f"SELECT {condition.sql}", given)
            assert cursor.fetchone() == (begins,)


def test_a_search_that_takes_too_long_ends_in_the_bare_list(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    def too_long(*_: Any, **__: Any) -> None:
        raise OperationalError from QueryCanceled()

    make()
    client = client_as("viewer")
    monkeypatch.setattr("users.search.matches", too_long)
    text = client.get(QUEUE, {"q": "ada"}, follow=True).content.decode()
    assert "The search took too long." in text
    assert "Ada Byron" in text


def test_a_search_with_too_many_matches_is_cut_and_says_so(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("users.search.MAX_PREFIX_MATCHES", 1)
    make(externalId="grace", firstName="Grace", email="grace@example.com")
    make(externalId="ada", email="ada@example.com")
    client = client_as("viewer")
    assert "Only the first 1 matches were examined." in page(client, q="byron")
    assert "matches were examined" not in page(client, q="grace")


# Long lists


def walked(client: Client, **filters: str) -> list[list[str]]:
    """The pages of the list, by following its links."""
    pages: list[list[str]] = []
    query = "&".join(f"{name}={value}" for name, value in filters.items())
    while True:
        response = client.get(f"{QUEUE}?{query}")
        text = unescape(response.content.decode())
        pages.append(external_ids(text))
        following = re.search(r'href="\?([^"]*)" rel="next"', text)
        if not following:
            return pages
        query = following[1]


@pytest.fixture
def three_rows_on_a_page(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(user_admin.UserAdmin, "list_per_page", 3)


@pytest.mark.usefixtures("three_rows_on_a_page")
@pytest.mark.parametrize("filters", [{}, {"province": "ON"}, {"flags": "yes"}, {"q": "byron"}, {"claimed": "nobody"}])
def test_pages_hold_each_row_once(filters: dict[str, str], make: Make) -> None:
    # All share an e-mail address.
    users = [make().external_id for _ in range(8)]
    assert walked(client_as("reviewer"), **filters) == [users[:3], users[3:6], users[6:]]


@pytest.mark.usefixtures("three_rows_on_a_page")
def test_a_page_begins_after_the_last_row_of_the_one_before_it_whoever_is_decided_meanwhile(make: Make) -> None:
    users = [make() for _ in range(5)]
    client = client_as("reviewer")
    first = client.get(QUEUE).context["cl"]
    factories.decide(users[0], Status.ACTIVE)
    text = client.get(QUEUE + first.next_page).content.decode()
    assert external_ids(text) == [users[3].external_id, users[4].external_id]
    assert "First page" in text


@pytest.mark.parametrize("filters", [{"province": "QC"}, {"flags": "yes", "province": "QC"}])
def test_a_scan_stops_and_continues_from_there(
    filters: dict[str, str], make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bounded_lists, "MAX_EXAMINED_ROWS", 3)
    for _ in range(4):
        make()
    last = make(province="QC", postalCode="H3B 2Y5")
    client = client_as("reviewer")
    assert "Only a part of the list was examined." in page(client, **filters)
    assert walked(client, **filters) == [[], [last.external_id]]


def test_the_cases_of_a_person_are_found_however_far_back_they_are(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounded_lists, "MAX_EXAMINED_ROWS", 1)
    reviewer = factories.StaffFactory.create()
    *_others, mine = [make() for _ in range(3)]
    claims.claim(user=mine, staff=reviewer)
    assert listed(client_of(reviewer), claimed="me", province="ON") == [mine.external_id]


def test_counting_stops(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(user_admin.UserAdmin, "list_per_page", 2)
    monkeypatch.setattr(bounded_lists.KeysetChangeList, "max_count", 2)
    for _ in range(3):
        make()
    assert "More than 2" in page(client_as("viewer"))
    assert [
        bounded_lists.count_text(bounded_lists.bounded_count(User.objects.all(), limit), limit) for limit in (2, 3)
    ] == ["2+", "3"]


@pytest.mark.parametrize("filters", [{}, {"flags": "yes"}, {"q": "byron"}, {"province": "ON", "claimed": "nobody"}])
def test_a_page_takes_as_many_statements_for_many_rows_as_for_few(filters: dict[str, str], make: Make) -> None:
    client = client_as("reviewer")
    counts = []
    for rows in (2, 15):
        for _ in range(rows):
            claims.claim(user=make(), staff=factories.StaffFactory.create()) if not filters else make()
        with CaptureQueriesContext(connection) as sent:
            listed(client, **filters)
        counts.append(len(sent))
    assert counts[0] == counts[1] <= 20


# What serves a statement


@pytest.mark.parametrize(
    ("path", "filters", "index"),
    [
        (QUEUE, {}, "user_waiting"),
        (QUEUE, {"waiting": "late"}, "user_waiting"),
        (QUEUE, {"province": "ON"}, "user_waiting"),
        (ANSWERED, {}, "user_answered"),
        (ANSWERED, {"waiting": "late", "country": "CA"}, "user_answered"),
        (ASKED, {}, "user_waiting_for_partner"),
        (ASKED, {"due": "overdue"}, "user_waiting_for_partner"),
        (ASKED, {"status__exact": "suspended"}, "user_waiting_for_partner"),
        (CHANGES, {}, "user_identity_changed"),
        ("/admin/users/user/", {}, "user_by_status"),
        ("/admin/users/user/", {"status__exact": "active"}, "user_by_status"),
        ("/admin/users/user/", {"country": "CA"}, "user_by_status"),
    ],
)
def test_a_page_is_a_range_of_an_index(path: str, filters: dict[str, str], index: str, make: Make) -> None:
    make()
    changelist = client_as("reviewer").get(path, filters).context["cl"]
    columns = {"status": "pendingCompliance", "id": uuid4()}
    position = tuple(columns.get(name.lstrip("-"), timezone.now()) for name in changelist.order)
    for rows in (changelist.queryset, changelist.queryset.filter(changelist._range(position))):
        with planning_without(*UNORDERED):
            plan = rows[:51].explain()
        assert f"using {index}" in plan
        assert "Sort" not in plan
    assert re.search(r"Index Cond: .*ROW\(", plan)


PREFIXES = ("user_external_id_any_case", "user_email_prefix")


@pytest.mark.django_db(databases=[serving_role.SERVING, serving_role.OWNER])
@pytest.mark.parametrize(
    ("term", "indexes"),
    [
        ("6c0e7a52-8c8f-4b43-9e57-0d1c5a3f8f0e", ["Index Cond: (id ="]),
        ("6C0E7A52", [*PREFIXES, "Index Cond: ((id >=", "user_folded_words"]),
        ("ada@", [*PREFIXES]),
        ("@example.org", [*PREFIXES, "user_email_domain"]),
        ("1990-12-10", [*PREFIXES, "user_birth_and_name", "user_folded_words"]),
        ("ada", [*PREFIXES, "user_folded_words"]),
        ("D/O 李小明", [*PREFIXES, "user_folded_words"]),
    ],
)
def test_each_kind_of_search_uses_its_index(term: str, indexes: list[str]) -> None:
    with planning_of_many_users():
        plans = [
            live(User.objects.using(serving_role.OWNER).filter(condition)).order_by().values("pk")[:10].explain()
            for condition in _conditions(term, sees_identity=True)
        ]
    assert len(plans) == len(indexes)
    for text, index in zip(plans, indexes, strict=True):
        assert index in text
        assert "Seq Scan" not in text


# Looking again


def test_active_users_whose_name_changed_are_listed_until_the_next_decision(make: Make, api: PartnerClient) -> None:
    first, second, untouched = make(), make(), make()
    for one in (first, second, untouched):
        factories.decide(one, Status.ACTIVE)
    change_name(api, first)
    change_name(api, second)
    api.patch(f"/v1/users/{untouched.external_id}", {"city": "Ottawa"})
    client = client_as("reviewer")
    # The latest change first.
    assert listed(client, CHANGES) == [second.external_id, first.external_id]
    assert listed(client) == []
    case = page(client, f"/admin/cases/{first.pk}/")
    assert "Changed since the last decision" in case
    assert "<ins>Lovelace</ins>" in case
    first.refresh_from_db()
    decide(Decision(user=first, to_status="suspended", by=factories.StaffFactory.create(), reason="A new name."))
    assert listed(client, CHANGES) == [second.external_id]
