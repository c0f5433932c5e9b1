"""Date-times in the back office: one format, and one time zone, which they name."""

import re
from collections.abc import Callable
from datetime import UTC, datetime
from html import unescape
from zoneinfo import ZoneInfo

import pytest
from django.test import Client
from pytest_django import Settings

from partners.authentication import keys
from partners.models import ApiKey, Partner
from staff.models import Staff
from tests import factories
from tests.support.client import PartnerClient, Response
from tests.support.staff import client_of
from users.models import Status, User, UserEvent

WINTER, SUMMER = datetime(2026, 1, 15, 17, 30, tzinfo=UTC), datetime(2026, 7, 15, 17, 30, tzinfo=UTC)
TORONTO = ZoneInfo("America/Toronto")
# A time of the day, and what follows it.
TIME_OF_DAY = re.compile(r"\b\d{1,2}:\d\d(.{0,8})", re.DOTALL)
NAMED = re.compile(r" E[SD]T|–\d\d:\d\d E[SD]T?")


@pytest.fixture
def user(create_user: Callable[..., Response]) -> User:
    user = User.objects.get(pk=create_user().json()["userId"])
    factories.decide(user, Status.SUSPENDED)
    return user


@pytest.fixture
def root(db: None) -> Client:
    staff = Staff.objects.create_superuser("root", password="a password of root")
    return client_of(staff)


def text_of(client: Client, path: str, language: str = "en") -> str:
    """What a reader of the page sees, without its tags."""
    page = client.get(path, headers={"Accept-Language": language}).content.decode()
    return unescape(re.sub(r"<(script|style).*?</\1>|<[^>]*>", " ", page, flags=re.DOTALL))


def pages(user: User) -> list[str]:
    """The pages on which instants are."""
    decision, event = user.status_changes.latest("pk"), UserEvent.objects.filter(pgh_obj=user).latest("pgh_id")
    conversion = factories.ConversionFactory.create(user=user, created_at=WINTER)
    key = keys.issue(partner=user.partner, expires_at=SUMMER.replace(year=2090)).record
    return [
        "/admin/users/user/queue/?q=" + user.external_id,
        f"/admin/cases/{user.pk}/",
        "/admin/users/user/",
        f"/admin/users/userevent/?q={user.pk}",
        "/admin/users/statuschange/",
        f"/admin/users/statuschange/{decision.pk}/change/",
        "/admin/users/userevent/",
        f"/admin/users/userevent/{event.pk}/change/",
        f"/admin/staff/staff/{decision.by.pk}/change/",
        "/admin/transactions/conversion/",
        f"/admin/transactions/conversion/{conversion.pk}/change/",
        "/admin/partners/partner/",
        f"/admin/partners/partner/{user.partner_id}/change/",
        f"/admin/partners/apikey/{key.pk}/change/",
        "/admin/users/accessrecord/",
    ]


def test_each_time_of_day_names_the_time_zone(root: Client, user: User) -> None:
    shown = {path: text_of(root, path) for path in pages(user)}
    unnamed = {
        path: [match[0] for match in TIME_OF_DAY.finditer(text) if not NAMED.match(match[1])]
        for path, text in shown.items()
    }
    assert {path: found for path, found in unnamed.items() if found} == {}
    assert [path for path, text in shown.items() if not TIME_OF_DAY.search(text)] == []


@pytest.mark.parametrize(
    ("instant", "language", "shown"),
    [
        (WINTER, "en", "Jan. 15, 2026, 12:30 EST"),
        (SUMMER, "en", "July 15, 2026, 13:30 EDT"),
        (SUMMER, "fr", "15 juil. 2026, 13:30 EDT"),
        (WINTER, "fr", "15 jan. 2026, 12:30 EST"),
    ],
)
def test_date_times_have_one_format_in_lists_and_on_pages(
    instant: datetime, language: str, shown: str, root: Client, user: User
) -> None:
    conversion = factories.ConversionFactory.create(user=user, created_at=instant)
    for path in (
        f"/admin/cases/{user.pk}/",
        "/admin/transactions/conversion/",
        f"/admin/transactions/conversion/{conversion.pk}/change/",
    ):
        assert shown in text_of(root, path, language)


def test_the_time_zone_is_configurable(root: Client, user: User, settings: Settings) -> None:
    settings.COMPLIANCE_TIME_ZONE = "Asia/Tokyo"
    factories.ConversionFactory.create(user=user, created_at=WINTER)
    assert "Jan. 16, 2026, 02:30 JST" in text_of(root, "/admin/transactions/conversion/")


def test_form_input_is_in_that_time_zone(root: Client, partner: Partner) -> None:
    url = f"/admin/partners/partner/{partner.pk}/issue/"
    assert "Time zone America/Toronto" in root.get(url).content.decode()
    root.post(url, {"version": "", "label": "a", "expires_at": "2090-01-15T12:30"})
    assert ApiKey.objects.get(partner=partner).expires_at == datetime(2090, 1, 15, 12, 30, tzinfo=TORONTO)


def test_partners_are_answered_in_utc(api: PartnerClient, user: User, root: Client) -> None:
    factories.add_conversions(user, [WINTER])
    text_of(root, "/admin/users/user/queue/")
    response = api.get(f"/v1/users/{user.external_id}/transactions").json()
    assert response["items"][0]["createdAt"] == "2026-01-15T17:30:00.000000Z"
