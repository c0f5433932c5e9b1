"""The case page: what each role sees, and that every opening is recorded."""

import re
from datetime import UTC, date, datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest
from pytest_django import DjangoAssertNumQueries

from backoffice.case.page import case_context
from backoffice.case.timeline import MORE, SHOWN
from backoffice.exports.records import conversions
from partners.models import Partner
from staff.models import Staff
from tests import factories
from tests.support.client import PartnerClient
from tests.support.staff import client_as, client_of
from tests.users.deciding import case_of, page_of
from users.models import AccessRecord, Status, User, UserEvent
from users.profile.labels import display_province

SEES_CASES = {"viewer", "reviewer", "auditor", "superuser"}
NOON = datetime(2026, 1, 15, 12, tzinfo=UTC)


@pytest.fixture
def user(partner: Partner) -> User:
    made: User = factories.UserFactory.create(partner=partner, external_id="ada")
    return made


# Permissions


# Which roles see which parts of the page.
SEEN_BY = [
    (
        SEES_CASES,
        [
            *("Pending compliance", "A Partner Inc.", "<code>ada</code>", "Waiting", "Same email address"),
            *("Engineer", "Ontario (ON)", "Conversions"),
            # What partners send is escaped.
            *("Ada &lt;script&gt;alert(1)&lt;/script&gt;", "&lt;b&gt;x"),
        ],
    ),
    ({"viewer"}, ["Your role does not see all risk flags."]),
    (
        SEES_CASES - {"viewer"},
        [
            *("Jan. 2, 1991", "Dec. 10, 1990", "100 King St W", "1 Elgin St", "Suite 200", "Ottawa", "Toronto"),
            *("M5X 1A9", "H3B 2Y5", "Same name and birth date", "Postal code outside the province"),
            *("Changed since submission", "Profile changed", 'class="case-event case-event--opened'),
        ],
    ),
    ({"reviewer", "superuser"}, ['data-dialog="decide-active"', "/claim/"]),
    (set[str](), ["<script>alert", "<b>x"]),
]
PARTS = {part: roles for roles, parts in SEEN_BY for part in parts}
# The birth dates in every other format of a page.
BORN = ("1990-12-10", "Dec 10, 1990", "10 December 1990", "1991-01-02", "Jan 2, 1991", "2 January 1991")


def test_a_role_sees_its_parts_of_the_page_and_each_opening_is_recorded(partner: Partner, api: PartnerClient) -> None:
    last_name = "<script>alert(1)</script>"
    address = {"address_line2": "Suite 200", "province": "ON", "postal_code": "M5X 1A9"}
    user: User = factories.UserFactory.create(partner=partner, external_id="ada", last_name=last_name, **address)
    born = date(1991, 1, 2)
    factories.UserFactory.create(last_name=last_name, date_of_birth=born)
    api.patch("/v1/users/ada", {"occupation": "Nurse"})
    changed = {"dateOfBirth": f"{born}", "addressLine1": "1 Elgin St", "city": "Ottawa"}
    api.patch("/v1/users/ada", {"occupation": "Engineer<b>x", "postalCode": "H3B 2Y5"} | changed)
    staff = {role: factories.StaffFactory.create(role=role) for role in SEES_CASES - {"superuser"}}
    staff["superuser"] = factories.StaffFactory.create(role="")
    factories.AccessRecordFactory.create_batch(2, user=user, staff=staff["reviewer"])

    responses = {role: client_of(one).get(case_of(user)) for role, one in staff.items()}
    pages = {role: response.content.decode() for role, response in responses.items()}
    assert {part: {role for role, page in pages.items() if part in page} for part in PARTS} == PARTS
    opened = list(AccessRecord.objects.order_by("id"))[2:]
    assert [(one.kind, one.user, one.staff, one.request_id) for one in opened] == [
        ("opened", user, staff[role], response.headers["X-Request-Id"]) for role, response in responses.items()
    ]
    assert [one for one in BORN if one in pages["viewer"]] == []
    page = pages["reviewer"]
    assert "3 times" in page
    title = re.search(r"<title>(.*?)</title>", page, re.DOTALL)
    assert title
    assert all(said in title[1] for said in ("Ada &lt;script&gt;", str(user.pk)[:8]))
    times = re.findall(r'<time datetime="([^"]*)" title="([^"]*)">', page)
    assert times
    for instant, text in times:
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", instant)
        assert text == f"{instant[:10]} {instant[11:19]} UTC"

    # A refused request opens nothing.
    client_as("partner-manager").get(case_of(user))
    assert AccessRecord.objects.count() == 2 + len(SEES_CASES)


def test_where_a_viewer_sees_none_of_the_risk_flags_the_page_says_so(partner: Partner) -> None:
    user = factories.UserFactory.create(partner=partner, postal_code="H3B 2Y5", province="ON")
    page = page_of(client_as("viewer"), user)
    assert "Postal code" not in page
    assert "No risk flags that your role sees" in page


def test_a_province_is_shown_with_its_name() -> None:
    shown = {
        ("CA", "ON"): "Ontario (ON)",
        ("CN", "GD"): "Guangdong Sheng (GD)",
        ("ID", "PS"): "Papua Selatan (PS)",
        ("HK", "Kowloon"): "Kowloon",
        ("FR", "Île-de-France"): "Île-de-France",
    }
    assert {province: display_province(*province) for province in shown} == shown


# The access log


def test_opening_an_entry_of_the_profile_history_is_recorded_too(user: User) -> None:
    client = client_as("auditor")
    event = UserEvent.objects.get(pgh_obj=user)
    client.get(f"/admin/users/userevent/{event.pk}/change/")
    kept = [(record.user, record.kind, record.detail) for record in AccessRecord.objects.order_by("id")]
    assert kept == [(user, "opened", "history")]


def test_the_access_log_can_be_searched_by_user_and_staff(user: User) -> None:
    record = factories.AccessRecordFactory.create(user=user)
    auditor = client_as("auditor")
    for query, found in {str(user.pk): [record], record.staff.username: [record], "nobody": []}.items():
        response = auditor.get("/admin/users/accessrecord/", {"q": query})
        assert list(response.context["cl"].result_list) == found, query
        page = response.content.decode()
        assert (record.staff.username in page and case_of(user) in page) == bool(found), query


# Contents


def test_the_latest_conversions_are_shown_with_a_link_to_all_to_who_may_see_them(
    user: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    factories.add_conversions(user, [NOON + timedelta(hours=n) for n in range(7)])
    client, titles = client_as("viewer"), ('id="conversions-title"', 'id="documents-title"')
    page = page_of(client, user)
    assert all(title in page for title in titles)
    assert page.count("100.00 CAD") == 5
    link = re.search(r'href="(/admin/transactions/conversion/[^"]*)"', page[page.index("The latest 5.") :])
    assert link
    assert len(client.get(link[1]).context["cl"].result_list) == 7
    has_perm = Staff.has_perm
    monkeypatch.setattr(Staff, "has_perm", lambda *args: "transactions." not in args[1] and has_perm(*args))
    page = page_of(client, user)
    assert not any(title in page for title in titles)


def test_the_evidence_pack_has_the_conversions_as_the_api_represents_them(user: User, api: PartnerClient) -> None:
    factories.add_conversions(user, [NOON, NOON, NOON, NOON + timedelta(hours=1), NOON - timedelta(hours=1)])
    assert list(conversions(user)) == api.get("/v1/users/ada/transactions").json()["items"]


# Bounds


def test_an_unknown_user_is_not_found_and_the_page_is_read_only(db: None) -> None:
    client = client_as("reviewer")
    for pk in (uuid4(), "nonsense", "%00"):
        assert client.get(f"/admin/cases/{pk}/").status_code == 404
    assert client.post(f"/admin/cases/{uuid4()}/decide/").status_code == 404
    assert client.post(f"/admin/cases/{uuid4()}/").status_code == 405


def test_any_length_of_the_timeline_is_answered(user: User) -> None:
    request: Any = client_as("reviewer").get(case_of(user)).wsgi_request

    def longer(count: str) -> int | None:
        request.GET = {"timeline": count}
        found: int | None = case_context(request, user)["longer_timeline"]
        return found

    invalid = dict.fromkeys(["0", "-1", "x", "9" * 30, "²", "", "15.5"], SHOWN + MORE)
    lengths = invalid | {"16": 16 + MORE, "480": 500, "500": None, "501": None}
    assert {count: longer(count) for count in lengths} == lengths


def test_a_long_history_takes_as_many_statements_as_a_short_one(
    user: User, api: PartnerClient, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    client = client_as("reviewer")
    factories.UserFactory.create()
    factories.decide(user, Status.ACTIVE)
    api.patch("/v1/users/ada", {"lastName": "King", "province": "ON", "postalCode": "K1A 0B1"})
    api.patch("/v1/users/ada", {"lastName": "Byron"})
    page_of(client, user)
    with django_assert_num_queries(STATEMENTS):
        page_of(client, user)
    for number in range(3):
        api.patch("/v1/users/ada", {"city": f"City {number}"})
    factories.UserFactory.create_batch(3)
    factories.AccessRecordFactory.create_batch(3, user=user)
    # Older ones would be a risk flag.
    factories.add_conversions(user, [user.created_at + timedelta(hours=n) for n in range(7)])
    with django_assert_num_queries(STATEMENTS):
        page_of(client, user)


# Session, staff, two of permissions; the user and the opening in a transaction; risk flags (other users twice,
# decided before); the last decision and the state it left; five of the timeline; the claim; the file; documents;
# conversions.
STATEMENTS = 28
