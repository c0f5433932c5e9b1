"""The timeline of a case."""

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest

from backoffice.case import page, timeline
from backoffice.case.timeline import Entry, merge
from staff.models import Staff
from tests import factories
from tests.support.client import PartnerClient, Response
from tests.support.staff import client_of
from tests.users.deciding import page_of
from users import claims
from users.models import AccessKind, AccessRecord, Status, User

NOON = datetime(2026, 1, 15, 12, tzinfo=UTC)


def entry(hour: int, kind: str = "opened", actor: str = "ann") -> Entry:
    return Entry(NOON + timedelta(hours=hour), kind, kind, actor)


def kinds(user: User, reader: Staff, count: int = 50) -> list[str]:
    return [entry.kind for entry in timeline.timeline(user, reader, count=count)["entries"]]


def test_creation_names_the_partner_the_key_and_the_request(
    create_user: Callable[..., Response], api: PartnerClient, reviewer: Staff
) -> None:
    response = create_user()
    user = User.objects.get(pk=response.json()["userId"])
    [created] = timeline.timeline(user, reviewer)["entries"]
    assert (created.kind, created.actor) == ("created", user.partner.slug)
    assert created.source == f"key {api.api_key[:16]}, request {response.header('X-Request-Id')}"


def test_an_update_names_its_fields_and_its_request(user: User, api: PartnerClient, reviewer: Staff) -> None:
    response = api.patch("/v1/users/ada", {"city": "Ottawa", "occupation": "Nurse"})
    change = timeline.timeline(user, reviewer)["entries"][0]
    assert [(field.column, field.old, field.new) for field in change.fields] == [
        ("city", "Toronto", "Ottawa"),
        ("occupation", "Engineer", "Nurse"),
    ]
    assert str(response.header("X-Request-Id")) in change.source


def test_a_decision_is_one_entry_with_person_and_reason(user: User, reviewer: Staff) -> None:
    factories.decide(user, Status.SUSPENDED)
    assert sorted(kinds(user, reviewer)) == ["active", "created", "suspended"]
    told = timeline.timeline(user, reviewer)["entries"][0]
    assert (told.title, told.text) == ("Active → Suspended", "Papers seen.")
    assert told.actor.startswith("staff-")


def test_a_viewer_sees_creation_and_decisions(user: User, reviewer: Staff) -> None:
    User.objects.filter(pk=user.pk).update(city="Ottawa")
    claims.claim(user=user, staff=reviewer)
    factories.AccessRecordFactory.create(kind=AccessKind.OPENED, user=user, staff=reviewer)
    factories.StatusChangeFactory.create(user=user, by=reviewer)
    assert sorted(kinds(user, factories.StaffFactory.create(role="viewer"))) == ["active", "created"]
    assert sorted(kinds(user, reviewer)) == ["active", "change", "claimed", "created", "opened"]


def test_openings_of_one_person_within_an_hour_are_one_entry(user: User, reviewer: Staff) -> None:
    other = factories.StaffFactory.create(role="auditor")
    for staff in (reviewer, other, reviewer, reviewer):
        factories.AccessRecordFactory.create(kind=AccessKind.OPENED, user=user, staff=staff)
    opened = [e for e in timeline.timeline(user, reviewer)["entries"] if e.kind == "opened"]
    assert [(e.actor, e.times) for e in opened] == [(reviewer.username, 3), (other.username, 1)]


def test_openings_hours_apart_are_separate_entries() -> None:
    visits = timeline.group_openings([entry(5), entry(4), entry(1, actor="eve"), entry(0)])
    assert [(e.actor, e.when.hour, e.times) for e in visits] == [
        ("ann", 17, 1),
        ("ann", 16, 1),
        ("eve", 13, 1),
        ("ann", 12, 1),
    ]


def test_sources_are_merged_newest_first() -> None:
    merged = merge([([entry(3), entry(1)], None), ([entry(2, kind="change")], None)], 5)
    assert [e.when.hour for e in merged["entries"]] == [15, 14, 13]
    assert not merged["has_more"]


def test_entries_of_the_same_instant_have_a_fixed_order() -> None:
    later, earlier = [entry(0, "note")], [entry(0, "change")]
    assert merge([(later, None), (earlier, None)], 5)["entries"] == [*later, *earlier]


def test_entries_older_than_an_incomplete_source_are_left_out() -> None:
    cut = [entry(9), entry(6)], NOON + timedelta(hours=6)
    merged = merge([cut, ([entry(7, kind="change"), entry(1, kind="created")], None)], 5)
    assert [e.when.hour for e in merged["entries"]] == [21, 19, 18]
    assert merged["has_more"]


def test_the_page_shows_the_latest_entries_and_a_link_to_more(
    user: User, reviewer: Staff, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (timeline, page):
        monkeypatch.setattr(module, "SHOWN", 3)
    claims.claim(user=user, staff=reviewer)
    claims.release(user=user, staff=reviewer)
    for name in ("Ottawa", "Hull"):
        User.objects.filter(pk=user.pk).update(city=name)
    client = client_of(reviewer)
    shown = page_of(client, user)
    assert titles(shown) == ["Opened", "Released", "Claimed"]
    assert f"?timeline={3 + timeline.MORE}#timeline" in shown
    more = client.get(f"/admin/cases/{user.pk}/?timeline={3 + timeline.MORE}").content.decode()
    assert titles(more) == ["Opened", "Released", "Claimed", "Profile changed", "Profile changed", "Submitted"]
    assert "Show more" not in more


def titles(page: str) -> list[str]:
    return re.findall(r'case-event-title">([^<]*?)\s*<', page)


def test_many_openings_do_not_displace_other_entries(user: User, reviewer: Staff) -> None:
    User.objects.filter(pk=user.pk).update(city="Ottawa")
    AccessRecord.objects.bulk_create(
        AccessRecord(kind=AccessKind.OPENED, user=user, staff=reviewer) for _ in range(timeline.SHOWN * 4)
    )
    assert kinds(user, reviewer, timeline.SHOWN) == ["opened", "change", "created"]
