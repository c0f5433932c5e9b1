"""GET /v1/users: a partner's users, newest first (contract, section 12)."""

from collections.abc import Callable
from typing import Any

from core.formats import parse_timestamp
from partners.models import Partner
from tests import factories
from tests.support.client import PartnerClient
from tests.support.responses import codes, failing_fields
from users.models import Status

USERS = "/v1/users"


def walk(api: PartnerClient, query: str = "", *, meanwhile: Callable[[], object] = bool) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = []
    cursor = ""
    while True:
        page = api.get(f"{USERS}?{query}{cursor}").json()
        items += page["items"]
        if page["nextCursor"] is None:
            return items
        cursor = f"&cursor={page['nextCursor']}"
        meanwhile()


def test_a_user_is_listed_without_personal_data(api: PartnerClient) -> None:
    assert api.get(USERS).json() == {"nextCursor": None, "items": []}
    created = api.post(USERS, factories.user_body(externalId="ada")).json()

    body = api.get(USERS).json()
    [item] = body["items"]
    assert body["nextCursor"] is None
    assert item.keys() == {"userId", "externalId", "status", "createdAt", "updatedAt", "openRequirements"}
    assert {name: item[name] for name in created} == created
    assert item["updatedAt"] == api.get(f"{USERS}/ada").json()["updatedAt"]


def test_pages_are_newest_first_and_whole_whatever_is_created_meanwhile(api: PartnerClient, partner: Partner) -> None:
    # Within the test's transaction, all of one instant.
    users = [factories.UserFactory.create(partner=partner) for _ in range(8)]
    newest_first = [str(user.pk) for user in sorted(users, key=lambda one: (one.created_at, one.pk), reverse=True)]
    assert [item["userId"] for item in walk(api, "limit=3")] == newest_first
    later = iter([True] * 4)

    def create() -> None:
        if next(later, False):
            factories.UserFactory.create(partner=partner)

    found = [item["userId"] for item in walk(api, "limit=3", meanwhile=create)]
    assert len(found) == len(set(found))
    assert [user_id for user_id in found if user_id in newest_first] == newest_first


def test_a_status_filters(api: PartnerClient, partner: Partner) -> None:
    active = [factories.UserFactory.create(partner=partner, status=Status.ACTIVE) for _ in range(3)]
    factories.UserFactory.create(partner=partner)

    assert {item["userId"] for item in walk(api, "status=active&limit=1")} == {str(user.pk) for user in active}
    assert walk(api, "status=closed") == []


def test_a_page_goes_on_after_a_user_whose_status_has_changed(api: PartnerClient, partner: Partner) -> None:
    users = [factories.UserFactory.create(partner=partner) for _ in range(3)]
    page = api.get(f"{USERS}?status=pendingCompliance&limit=1").json()
    last = next(user for user in users if str(user.pk) == page["items"][0]["userId"])
    factories.decide(last, Status.ACTIVE)

    rest = walk(api, f"status=pendingCompliance&cursor={page['nextCursor']}")
    assert {item["userId"] for item in rest} == {str(user.pk) for user in users if user != last}


def test_a_page_after_which_nobody_is_left_is_empty(api: PartnerClient, partner: Partner) -> None:
    factories.UserFactory.create_batch(2, partner=partner)
    cursor = api.get(f"{USERS}?limit=1").json()["nextCursor"]
    assert api.get(f"{USERS}?status=closed&cursor={cursor}").json() == {"nextCursor": None, "items": []}


def test_a_list_is_of_its_partner_and_a_cursor_is_a_date_time_of_this_list(
    api: PartnerClient, other_api: PartnerClient
) -> None:
    for _ in range(2):
        api.post(USERS, factories.user_body())
    assert other_api.get(USERS).json()["items"] == []
    cursor = api.get(f"{USERS}?limit=1").json()["nextCursor"]
    assert parse_timestamp(cursor)
    assert api.get(f"{USERS}?cursor={cursor}").status == 200
    assert failing_fields(other_api.get(f"{USERS}?cursor={cursor}")) == ["cursor"]
    other_user = str((int(cursor[-2]) + 1) % 10)
    assert failing_fields(api.get(f"{USERS}?cursor={cursor[:-2]}{other_user}Z")) == ["cursor"]


WRONG = [
    ("status=", "status", "notAllowed"),
    ("status=unknown", "status", "notAllowed"),
    ("status=active&status=active", "status", "duplicate"),
    ("cursor=", "cursor", "format"),
    ("cursor=2026-02-30T00:00:00.000000194737710869063390582553956751487435508Z", "cursor", "format"),
    (f"cursor=0013-01-01T00:00:00.000000{'0' * 39}Z", "cursor", "format"),
    (f"cursor=2026-01-15T00:00:00.000000{'9' * 39}Z", "cursor", "format"),
    ("limit=0", "limit", "range"),
    ("limit=101", "limit", "range"),
    ("limit=1&limit=1", "limit", "duplicate"),
]


def test_wrong_parameters_are_named(api: PartnerClient) -> None:
    found = [(query, codes(api.get(f"{USERS}?{query}"))) for query, _field, _code in WRONG]
    assert found == [(query, {field: code}) for query, field, code in WRONG]
