"""The case page: what each role sees, and that every opening is recorded."""

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from uuid import uuid4

import pytest
from pytest_django import DjangoAssertNumQueries

from backoffice.exports.records import conversions
from staff.models import Staff
from tests import factories
from tests.support.client import PartnerClient, Response
from tests.support.staff import client_as, client_of
from tests.users.deciding import case_of, page_of
from users.models import AccessRecord, Claim, Status, User, UserEvent

# Birth date and address of the factories, in every format of a page.
IDENTITY = ("1990-12-10", "Dec. 10, 1990", "Dec 10, 1990", "10 December 1990", "100 King St W", "Suite 200", "M5X")
SEES_CASES = {"viewer", "reviewer", "auditor", "superuser"}
NOON = datetime(2026, 1, 15, 12, tzinfo=UTC)


# Permissions


# Parts of the page and the roles that see them.
PARTS = {
    "Dec. 10, 1990": {"reviewer", "auditor", "superuser"},
    "100 King St W": {"reviewer", "auditor", "superuser"},
    "Same name and birth date": {"reviewer", "auditor", "superuser"},
    "Changed since submission": {"reviewer", "auditor", "superuser"},
    "Profile changed": {"reviewer", "auditor", "superuser"},
    'class="case-event case-event--opened': {"reviewer", "auditor", "superuser"},
    'data-dialog="decide-active"': {"reviewer", "superuser"},
    "/claim/": {"reviewer", "superuser"},
    "Ada Byron": SEES_CASES,
    "Same email address": SEES_CASES,
    "Engineer": SEES_CASES,
    "Conversions": SEES_CASES,
}


@pytest.mark.parametrize("role", sorted(SEES_CASES))
def test_a_role_sees_its_parts_of_the_page(
    role: str, user: User, api: PartnerClient, create_user: Callable[..., Response]
) -> None:
    create_user()
    api.patch("/v1/users/ada", {"occupation": "Nurse"})
    api.patch("/v1/users/ada", {"occupation": "Engineer", "addressLine2": "Suite 1"})
    page = page_of(client_as(role), user)
    assert {part: part in page for part in PARTS} == {part: role in roles for part, roles in PARTS.items()}


def test_a_viewer_sees_no_birth_date_and_no_address(
    user: User, api: PartnerClient, create_user: Callable[..., Response]
) -> None:
    create_user()
    api.patch("/v1/users/ada", {"dateOfBirth": "1991-01-02", "addressLine1": "1 Elgin St", "city": "Ottawa"})
    viewer = client_as("viewer")
    page = page_of(viewer, user)
    assert "Ada" in page
    # Of the flags that it sees there is one.
    assert "Your role does not see all risk flags." in page
    for shown in (*IDENTITY, "1991", "Jan. 2", "1 Elgin St", "Ottawa", "Toronto"):
        assert shown not in page, shown


def test_a_risk_flag_about_the_address_is_hidden_from_a_viewer(create_user: Callable[..., Response]) -> None:
    odd = User.objects.get(pk=create_user(postalCode="H3B 2Y5", province="ON").json()["userId"])
    page = page_of(client_as("viewer"), odd)
    assert "Postal code" not in page
    assert "No risk flags that your role sees" in page
    assert "Postal code outside the province" in page_of(client_as("reviewer"), odd)


@pytest.mark.parametrize(
    ("country", "province", "postal_code", "shown"),
    [
        ("CA", "ON", "M5X 1A9", "Ontario (ON)"),
        ("CN", "44", "510000", "Guangdong Sheng (GD)"),
        ("ID", "PS", "99600", "Papua Selatan (PS)"),
        ("HK", "kowloon", "", "Kowloon"),
        ("FR", "Île-de-France", "75001", "Île-de-France"),
    ],
)
def test_a_province_is_shown_with_its_name(
    create_user: Callable[..., Response], country: str, province: str, postal_code: str, shown: str
) -> None:
    response = create_user(country=country, province=province, postalCode=postal_code)
    page = page_of(client_as("reviewer"), User.objects.get(pk=response.json()["userId"]))
    assert f"<dd>{shown}</dd>" in re.sub(r"\s*(</?dd[^>]*>)\s*", r"\1", page)


# Opening is recorded


@pytest.mark.parametrize("role", sorted(SEES_CASES))
def test_opening_a_case_is_recorded(role: str, user: User) -> None:
    staff = factories.StaffFactory.create(role=role) if role != "superuser" else None
    client = client_of(staff) if staff else client_as("superuser")
    response = client.get(case_of(user))
    record = AccessRecord.objects.get()
    assert (record.kind, record.user, record.request_id) == ("opened", user, response.headers["X-Request-Id"])
    assert staff is None or record.staff == staff


def test_a_refused_request_is_not_recorded_as_an_opening(user: User) -> None:
    client_as("partner-manager").get(case_of(user))
    assert not AccessRecord.objects.exists()


def test_every_opening_is_recorded_and_the_timeline_groups_them(user: User) -> None:
    client = client_as("reviewer")
    for _ in range(3):
        page = page_of(client, user)
    assert AccessRecord.objects.count() == 3
    assert page.count("case-event--opened") == 1
    assert "3 times" in page


def test_opening_an_entry_of_the_profile_history_is_recorded_too(user: User) -> None:
    client = client_as("auditor")
    event = UserEvent.objects.get(pgh_obj=user)
    client.get(f"/admin/users/userevent/{event.pk}/change/")
    kept = [(record.user, record.kind, record.detail) for record in AccessRecord.objects.order_by("id")]
    assert kept == [(user, "opened", "history")]


def test_the_access_log_can_be_searched_by_user_and_staff(user: User) -> None:
    reviewer = factories.StaffFactory.create(role="reviewer")
    page_of(client_of(reviewer), user)
    auditor = client_as("auditor")
    for query in (str(user.pk), reviewer.username):
        page = auditor.get("/admin/users/accessrecord/", {"q": query}).content.decode()
        assert reviewer.username in page
        assert case_of(user) in page
    assert not auditor.get("/admin/users/accessrecord/", {"q": "nobody"}).context["cl"].result_list


# Contents


def test_the_header_shows_name_status_partner_and_ids(user: User) -> None:
    page = page_of(client_as("reviewer"), user)
    for shown in ("Ada Byron", "Pending compliance", user.partner.name, "ada", str(user.pk), "Waiting"):
        assert shown in page


def test_the_title_names_the_person_and_the_case(user: User) -> None:
    page = page_of(client_as("reviewer"), user)
    title = re.search(r"<title>(.*?)</title>", page, re.DOTALL)
    assert title
    assert user.full_name in title[1]
    assert str(user.pk)[:8] in title[1]


def test_partner_data_is_escaped(create_user: Callable[..., Response]) -> None:
    odd = User.objects.get(
        pk=create_user(firstName="<script>alert(1)</script>", occupation="'\"><b>x").json()["userId"]
    )
    page = page_of(client_as("reviewer"), odd)
    assert "<script>alert" not in page
    assert "<b>x" not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page


def test_date_times_are_machine_readable_with_utc_in_their_title(user: User) -> None:
    page = page_of(client_as("reviewer"), user)
    times = re.findall(r'<time datetime="([^"]*)" title="([^"]*)">', page)
    assert times
    for instant, title in times:
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", instant)
        assert title == f"{instant[:10]} {instant[11:19]} UTC"


def test_the_latest_conversions_are_shown_with_a_link_to_all(user: User) -> None:
    factories.add_conversions(user, [NOON + timedelta(hours=n) for n in range(7)])
    client = client_as("reviewer")
    page = page_of(client, user)
    assert page.count("100.00 CAD") == 5
    link = re.search(r'href="(/admin/transactions/conversion/[^"]*)"', page[page.index("The latest 5.") :])
    assert link
    assert len(client.get(link[1]).context["cl"].result_list) == 7


def test_a_list_needs_its_permission(user: User, monkeypatch: pytest.MonkeyPatch) -> None:
    client, titles = client_as("viewer"), ('id="conversions-title"', 'id="documents-title"')
    shown = page_of(client, user)
    assert all(title in shown for title in titles)
    has_perm = Staff.has_perm
    monkeypatch.setattr(Staff, "has_perm", lambda *args: "transactions." not in args[1] and has_perm(*args))
    shown = page_of(client, user)
    assert not any(title in shown for title in titles)


def test_the_evidence_pack_has_the_conversions_as_the_api_represents_them(user: User, api: PartnerClient) -> None:
    factories.add_conversions(user, [NOON, NOON, NOON, NOON + timedelta(hours=1), NOON - timedelta(hours=1)])
    assert list(conversions(user)) == api.get("/v1/users/ada/transactions").json()["items"]


def test_the_claim_is_shown(user: User) -> None:
    holder = factories.StaffFactory.create(role="reviewer")
    Claim.objects.create(user=user, staff=holder)
    text = page_of(client_as("auditor"), user)
    assert f"<strong>{holder.username}</strong> has claimed this case" in text
    assert "/release/" in page_of(client_of(holder), user)
    assert "/claim/" not in page_of(client_of(holder), user)


# Bounds


def test_an_unknown_user_is_not_found(db: None) -> None:
    for pk in (uuid4(), "nonsense", "%00"):
        assert client_as("reviewer").get(f"/admin/cases/{pk}/").status_code == 404


def test_the_page_is_read_only(user: User) -> None:
    assert client_as("reviewer").post(case_of(user)).status_code == 405


@pytest.mark.parametrize("count", ["0", "-1", "x", "9" * 30, "²", "", "15.5", "500", "501"])
def test_any_length_of_the_timeline_is_answered(count: str, user: User) -> None:
    assert client_as("reviewer").get(case_of(user), {"timeline": count}).status_code == 200


def test_a_long_history_takes_as_many_statements_as_a_short_one(
    user: User,
    api: PartnerClient,
    create_user: Callable[..., Response],
    django_assert_num_queries: DjangoAssertNumQueries,
) -> None:
    client = client_as("reviewer")
    create_user()
    factories.decide(user, Status.ACTIVE)
    api.patch("/v1/users/ada", {"lastName": "King", "postalCode": "K1A 0B1"})
    api.patch("/v1/users/ada", {"lastName": "Byron"})
    page_of(client, user)
    with django_assert_num_queries(STATEMENTS):
        page_of(client, user)
    for number in range(8):
        api.patch("/v1/users/ada", {"city": f"City {number}"})
        create_user()
        page_of(client, user)
    # Older ones would be a risk flag.
    factories.add_conversions(user, [user.created_at + timedelta(hours=n) for n in range(50)])
    with django_assert_num_queries(STATEMENTS):
        page_of(client, user)


# Session, staff, two of permissions; the user and the opening in a transaction; risk flags (other users twice,
# decided before); the last decision and the state it left; five of the timeline; the claim; the file; documents;
# conversions.
STATEMENTS = 28
