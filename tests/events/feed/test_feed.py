"""GET /v1/events: every placed event once, oldest first: contract, section 10."""

from collections.abc import Callable
from datetime import timedelta
from itertools import product
from typing import Any
from unittest.mock import Mock
from uuid import UUID

import pytest
from django.db import connection

from events.feed import views as feed
from events.feed.views import CURSOR_TOO_OLD
from events.management.commands.purge_expired import EVENTS_KEPT
from events.models import Event, EventFeed
from partners.models import Partner
from tests import factories
from tests.support.client import PartnerClient, Response
from tests.support.commands import outcome
from tests.support.events import add_events, make_older, place_events
from tests.support.plans import generic_plan, nodes
from tests.support.responses import assert_error, failing_fields
from tests.support.round_trips import round_trips
from users.models import Status, User

FEED = "/v1/events"
EMPTY = {"nextCursor": "0000000000000000", "hasMore": False, "items": []}


def read(api: PartnerClient, query: str = "") -> dict[str, Any]:
    response = api.get(FEED + query)
    assert response.status == 200, response.body
    page: dict[str, Any] = response.json()
    return page


def read_all(api: PartnerClient, limit: int, cursor: str = "") -> list[list[str]]:
    """The eventIds of all pages after the cursor."""
    pages = []
    while True:
        page = read(api, f"?limit={limit}" + (f"&cursor={cursor}" if cursor else ""))
        pages.append([item["eventId"] for item in page["items"]])
        cursor = page["nextCursor"]
        if not page["hasMore"]:
            return pages


def in_order(partner: Partner) -> list[str]:
    events = Event.objects.filter(partner=partner).order_by("position")
    return [str(event_id) for event_id in events.values_list("event_id", flat=True)]


# Events


def test_each_type_of_event_has_its_exact_form(api: PartnerClient, partner: Partner) -> None:
    user: User = factories.UserFactory.create(partner=partner, status=Status.ACTIVE)
    factories.add_conversions(user, [factories.NOON, factories.NOON - timedelta(days=1)])
    document = factories.DocumentFactory.create(user=user)
    place_events()
    user.refresh_from_db()
    whose = {"externalId": user.external_id, "userId": str(user.pk)}
    page = read(api)

    assert [(item["type"], item["data"]) for item in page["items"]] == [
        (
            "user.statusChanged",
            whose
            | {"status": "active", "statusReason": "verified", "updatedAt": f"{user.updated_at:%Y-%m-%dT%H:%M:%S.%f}Z"},
        ),
        (
            "user.transactionsRecorded",
            whose
            | {
                "count": 2,
                "oldestCreatedAt": "2026-01-14T12:00:00.000000Z",
                "newestCreatedAt": "2026-01-15T12:00:00.000000Z",
            },
        ),
        (
            "user.documentPublished",
            whose
            | {
                "documentId": str(document.document_id),
                "type": "accountStatement",
                "createdAt": "2026-01-15T12:00:00.000000Z",
            },
        ),
    ]
    for item in page["items"]:
        event = Event.objects.get(event_id=UUID(item["eventId"]))
        assert set(item) == {"eventId", "type", "createdAt", "data"}
        assert item["createdAt"] == f"{event.created_at:%Y-%m-%dT%H:%M:%S.%f}Z"


def test_the_status_that_an_event_reports_is_what_the_user_has(api: PartnerClient, partner: Partner) -> None:
    user = factories.UserFactory.create(partner=partner, status=Status.ACTIVE)
    place_events()
    data, user_read = read(api)["items"][0]["data"], api.get(f"/v1/users/{user.external_id}").json()
    assert data == {name: user_read[name] for name in data}


def test_a_partner_reads_its_own_placed_events_only(
    api: PartnerClient, other_api: PartnerClient, partner: Partner
) -> None:
    factories.UserFactory.create(partner=partner, status=Status.ACTIVE)
    assert read(api) == EMPTY
    # Another partner's do not show in cursors either.
    add_events(factories.PartnerFactory.create(), 5)
    assert read(other_api) == EMPTY
    found = read(api)
    assert (len(found["items"]), found["nextCursor"]) == (1, f"{1:016x}")


def test_partners_own_requests_make_no_event(api: PartnerClient, create_user: Callable[..., Response]) -> None:
    create_user(externalId="ada")
    api.patch("/v1/users/ada", {"city": "Ottawa"})
    place_events()
    assert read(api) == EMPTY


# Pages


def test_pages_hold_every_event_once_in_its_order(api: PartnerClient, partner: Partner) -> None:
    add_events(partner, 10)
    for limit in (1, 3, 10, 100):
        pages = read_all(api, limit)
        assert [event for page in pages for event in page] == in_order(partner), limit
        assert [len(page) for page in pages] == [limit] * (10 // limit) + [10 % limit] * (10 % limit > 0)


def test_more_is_announced_only_if_there_is_more(api: PartnerClient, partner: Partner) -> None:
    add_events(partner, 4)
    assert [read(api, f"?limit={limit}")["hasMore"] for limit in (3, 4, 5)] == [True, False, False]


@pytest.mark.parametrize("count", [0, 2])
def test_a_cursor_at_the_end_is_where_later_events_follow(api: PartnerClient, partner: Partner, count: int) -> None:
    if count:
        add_events(partner, count)
    end = read(api)["nextCursor"]
    assert read(api, f"?cursor={end}") == {"nextCursor": end, "hasMore": False, "items": []}
    add_events(partner, 1)
    assert [item["eventId"] for item in read(api, f"?cursor={end}")["items"]] == in_order(partner)[count:]


def test_pages_are_the_same_when_they_are_read_again(api: PartnerClient, partner: Partner) -> None:
    add_events(partner, 5)
    cursor = read(api, "?limit=2")["nextCursor"]
    first = read(api, f"?limit=2&cursor={cursor}")
    add_events(partner, 5)
    assert read(api, f"?limit=2&cursor={cursor}") == first


# Parameters


def test_a_page_holds_at_most_the_limit(api: PartnerClient, partner: Partner) -> None:
    add_events(partner, 101)
    for query, count in {"": 25, "?limit=1": 1, "?limit=25": 25, "?limit=100": 100, "?limit=007": 7}.items():
        page = read(api, query)
        assert (len(page["items"]), page["hasMore"]) == (count, True), query


NO_CURSORS = (
    *("", "x", "1", "-1", "000000000000001", "00000000000000001", "000000000000000G", "000000000000000A"),
    *("8000000000000000", "ffffffffffffffff", "%200000000000000001", "0000000000000001%0A", "%D9%A0" * 16),
    "2026-01-15T10:30:00.1234560512345678901234567Z",
)


def test_a_text_that_is_no_cursor_is_refused(api: PartnerClient, partner: Partner) -> None:
    add_events(partner, 1)
    found = {cursor: failing_fields(api.get(f"{FEED}?cursor={cursor}")) for cursor in NO_CURSORS}
    assert found == {cursor: ["cursor"] for cursor in NO_CURSORS}


@pytest.mark.parametrize("position", [1, 9, 16, 300, 2**53, 2**63 - 1])
def test_a_cursor_names_its_position(position: int) -> None:
    assert feed.FeedPagination.parse(Mock(), f"{position:016x}") == (position,)


def test_a_cursor_after_the_last_event_is_refused(api: PartnerClient, partner: Partner) -> None:
    assert failing_fields(api.get(f"{FEED}?cursor={1:016x}")) == ["cursor"]
    add_events(partner, 2)
    assert failing_fields(api.get(f"{FEED}?cursor={3:016x}")) == ["cursor"]


def test_an_unsigned_request_is_refused(api: PartnerClient) -> None:
    assert assert_error(api.get(FEED, headers={"X-Request-Signature": "0" * 64}), 401)["error"] == "unauthorized"


# What has been purged


@pytest.fixture
def purged(committed_partner: Partner, transport: Any) -> PartnerClient:
    """A client of a partner with five events, the first three of them purged."""
    add_events(committed_partner, 5)
    for event in Event.objects.filter(partner=committed_partner).order_by("id")[:3]:
        make_older(event, EVENTS_KEPT + timedelta(minutes=1))
    outcome("purge_expired", "--batch-size", "2")
    return factories.client_of(committed_partner, transport)


def test_without_a_cursor_the_oldest_event_kept_comes_first(purged: PartnerClient, committed_partner: Partner) -> None:
    assert [item["eventId"] for item in read(purged)["items"]] == in_order(committed_partner)
    assert EventFeed.objects.get(partner=committed_partner).purged_position == 3


def test_a_cursor_is_good_until_an_event_after_it_is_purged(purged: PartnerClient) -> None:
    assert len(read(purged, f"?cursor={3:016x}")["items"]) == 2
    for position in (0, 2):
        problems = assert_error(purged.get(f"{FEED}?cursor={f'{position:016x}'}"), 400)["fieldErrors"]
        assert [(problem["field"], problem["message"]) for problem in problems] == [("cursor", CURSOR_TOO_OLD)]


def test_a_feed_whose_events_are_all_purged_goes_on(purged: PartnerClient, committed_partner: Partner) -> None:
    user = factories.UserFactory.create(partner=committed_partner)
    for event in Event.objects.filter(partner=committed_partner):
        make_older(event, EVENTS_KEPT + timedelta(minutes=1))
    outcome("purge_expired")
    assert read(purged) == {"nextCursor": f"{5:016x}", "hasMore": False, "items": []}
    factories.decide(user, Status.ACTIVE)
    place_events()
    assert [item["data"]["status"] for item in read(purged, f"?cursor={5:016x}")["items"]] == ["active"]


# Cost


def test_a_page_is_one_round_trip_with_authentication(api: PartnerClient, partner: Partner) -> None:
    for _ in range(2):  # the key is known from the first, and statements are prepared
        assert read(api) == EMPTY
    with round_trips() as empty:
        read(api)
    add_events(partner, 30)
    cursor = read(api, "?limit=3")["nextCursor"]
    with round_trips() as further:
        read(api, f"?limit=3&cursor={cursor}")
    assert (empty.count, further.count) == (1, 1)


def test_a_page_is_read_from_the_index_whatever_its_depth(partner: Partner) -> None:
    add_events(partner, 60)
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL enable_seqscan = off")
    for start, limit in product((None, (40,)), (3, 10)):
        found = generic_plan(feed.EVENTS.page((partner.pk, partner.pk), start, limit))
        (page,) = [node for node in nodes(found) if node.get("Index Name") == "event_position"]
        assert (page["Node Type"], page["Scan Direction"]) == ("Index Scan", "Forward")
        assert '"position" >' in page["Index Cond"]
        assert "Filter" not in page
        # One more tells whether more follow.
        assert max(node["Actual Rows"] for node in nodes(found)) == limit + 1
