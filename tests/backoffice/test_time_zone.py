"""Date-times in the back office: one format, and one time zone, which they name."""

import re
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
from tests.support.client import PartnerClient
from tests.support.staff import client_of
from users.models import Status, User, UserEvent

WINTER, SUMMER = datetime(2026, 1, 15, 17, 30, tzinfo=UTC), datetime(2026, 7, 15, 17, 30, tzinfo=UTC)
TORONTO = ZoneInfo("America/Toronto")
# A time of the day, and what follows it.
TIME_OF_DAY = re.compile(r"\b\d{1,2}:\d\d(.{0,8})", re.DOTALL)
NAMED = re.compile(r" E[SD]T|–\d\d:\d\d E[SD]T?")


@pytest.fixture
def user(partner: Partner) -> User:
    made: User = factories.UserFactory.create(partner=partner, status=Status.SUSPENDED)
    return made


@pytest.fixture
def root(db: None) -> Client:
    staff = Staff.objects.create_superuser("root", password="a password of root")
    return client_of(staff)


def text_of(client: Client, path: str, language: str = "en") -> str:
    """What a reader of the page sees, without its tags."""
    page = client.get(path, headers={"Accept-Language": language}).content.decode()
    return unescape(re.sub(r"<(script|style).*?</\1>|<[^>]*>", " ", page, flags=re.DOTALL))


def test_each_time_of_day_names_the_time_zone_and_has_one_format(root: Client, user: User) -> None:
    decision, event = user.status_changes.latest("pk"), UserEvent.objects.filter(pgh_obj=user).latest("pgh_id")
    winter, summer = factories.add_conversions(user, [WINTER, SUMMER])
    key = keys.issue(partner=user.partner, expires_at=SUMMER.replace(year=2090)).record
    case, conversions = f"/admin/cases/{user.pk}/", "/admin/transactions/conversion/"
    of_winter, of_summer = (f"{conversions}{one.pk}/change/" for one in (winter, summer))
    paths = (
        *("/admin/users/user/queue/?q=" + user.external_id, case, "/admin/users/user/", conversions, of_winter),
        *("/admin/users/statuschange/", f"/admin/users/statuschange/{decision.pk}/change/"),
        *("/admin/users/userevent/", f"/admin/users/userevent/{event.pk}/change/"),
        *("/admin/users/accessrecord/", f"/admin/staff/staff/{decision.by.pk}/change/"),
        *("/admin/partners/partner/", f"/admin/partners/partner/{user.partner_id}/change/"),
        f"/admin/partners/apikey/{key.pk}/change/",
    )
    shown = {path: text_of(root, path) for path in paths}
    unnamed = {
        path: [match[0] for match in TIME_OF_DAY.finditer(text) if not NAMED.match(match[1])]
        for path, text in shown.items()
    }
    assert {path: found for path, found in unnamed.items() if found} == {}
    assert [path for path, text in shown.items() if not TIME_OF_DAY.search(text)] == []
    # In summer and winter, in lists and on pages, in both languages.
    french = {path: text_of(root, path, "fr") for path in (case, conversions, of_summer)}
    formats = {"Jan. 15, 2026, 12:30 EST": shown, "July 15, 2026, 13:30 EDT": shown}
    formats |= {"15 juil. 2026, 13:30 EDT": french, "15 jan. 2026, 12:30 EST": french}
    for text, pages in formats.items():
        assert [path for path in (case, conversions) if text not in pages[path]] == [], text
    assert "Jan. 15, 2026, 12:30 EST" in shown[of_winter]
    assert "15 juil. 2026, 13:30 EDT" in french[of_summer]


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
