"""Changing a user: contract, section 2; and what the history keeps of it."""

from collections.abc import Callable
from typing import Any

import pytest

from core.formats import parse_timestamp
from partners.models import Partner
from tests import factories
from tests.support.client import PartnerClient, Response
from tests.support.responses import assert_error, failing_fields
from tests.users.sending import CHANGES, column_of
from users.models import Status, User, UserEvent
from users.models.columns import FOLDED_COLUMNS, PROFILE_COLUMNS

ADA = "/v1/users/ada"


@pytest.fixture
def user(create_user: Callable[..., Response]) -> dict[str, Any]:
    """The user `ada`, as she was created."""
    create_user(externalId="ada")
    return row()


def row() -> dict[str, Any]:
    return dict(User.objects.values().get(external_id="ada"))


def changed(before: dict[str, Any]) -> dict[str, Any]:
    """The columns that differ from before, apart from updatedAt and what is made of the name."""
    after = row()
    others = {"updated_at", "profile_changed_at", *FOLDED_COLUMNS}
    return {name: after[name] for name in after if after[name] != before[name] and name not in others}


def test_an_update_touches_only_what_was_sent(api: PartnerClient, user: dict[str, Any]) -> None:
    for name, value in CHANGES.items():
        before = row()
        assert api.patch(ADA, {name: value}).status == 200
        assert {key: kept if isinstance(kept, bool) else str(kept) for key, kept in changed(before).items()} == {
            column_of(name): value
        }


def test_a_country_is_changed_together_with_what_depends_on_it(api: PartnerClient, user: dict[str, Any]) -> None:
    assert api.patch(ADA, {"country": "us", "province": "ny", "postalCode": "10118 0110"}).status == 200
    assert changed(user) == {"country": "US", "province": "NY", "postal_code": "10118-0110"}


def test_every_column_of_the_profile_can_be_changed(api: PartnerClient, user: dict[str, Any]) -> None:
    assert {*map(column_of, CHANGES), "country"} == set(PROFILE_COLUMNS)
    assert api.patch(ADA, CHANGES).status == 200
    assert set(changed(user)) == set(PROFILE_COLUMNS) - {"country"}


def test_an_update_is_answered_with_where_the_user_stands(api: PartnerClient, user: dict[str, Any]) -> None:
    response = api.patch(ADA, {"city": "Ottawa"})
    assert response.json() == {
        "userId": str(user["id"]),
        "externalId": "ada",
        "status": "pendingCompliance",
        "statusReason": None,
        "statusChangedAt": row()["status_since"].strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
        "requirements": [],
        "verification": None,
        "updatedAt": row()["updated_at"].strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
    }
    assert response.body == api.get(ADA).body
    assert response.header("Location") is None


def test_updated_at_moves_with_every_change(api: PartnerClient, user: dict[str, Any]) -> None:
    moments = [api.patch(ADA, {"city": city}).json()["updatedAt"] for city in ("Ottawa", "Toronto", "Ottawa")]
    assert moments == sorted(set(moments))
    assert parse_timestamp(moments[0]) > user["updated_at"]


STORED = {
    "nothing": {},
    "what is stored": {"city": "Toronto"},
    "what is stored, in another form": {
        "city": " Toronto ",
        "country": "ca",
        "province": "on",
        "postalCode": "m5x1a9",
        "email": "ada@EXAMPLE.com",
    },
    "all that is stored": {name: value for name, value in factories.user_body().items() if name != "externalId"},
}


def test_what_changes_nothing_changes_nothing(api: PartnerClient, user: dict[str, Any]) -> None:
    for name, sent in STORED.items():
        response = api.patch(ADA, sent)
        assert (response.status, response.body) == (200, api.get(ADA).body), name
        assert row() == user, name
    assert UserEvent.objects.count() == 1


def test_a_second_address_line_can_be_taken_away(api: PartnerClient, user: dict[str, Any]) -> None:
    for value in (None, "", " "):
        assert api.patch(ADA, {"addressLine2": "Suite 200"}).status == 200
        assert api.patch(ADA, {"addressLine2": value}).status == 200
        assert changed(user) == {"address_line2": ""}, value


def test_an_external_id_does_not_change(api: PartnerClient, user: dict[str, Any]) -> None:
    for external_id in ("bob", "ada", "", None, 1):
        response = api.patch(ADA, {"externalId": external_id, "city": "Ottawa"})
        assert failing_fields(response) == ["externalId"], external_id
    assert row() == user


WRONG: dict[str, Any] = {
    "email": "nobody",
    "firstName": "\u3164",
    "lastName": "",
    "dateOfBirth": "1990-02-30",
    "addressLine1": "é" * 201,
    "addressLine2": "é" * 201,
    "city": "\nOttawa",
    "postalCode": "12345",
    "province": "Ontario",
    "country": "ZZ",
    "occupation": None,
    "isCiroAffiliate": "true",
    "nickname": "Ada",
}


def test_each_field_has_the_rules_of_a_create(api: PartnerClient, user: dict[str, Any]) -> None:
    assert {name: failing_fields(api.patch(ADA, {name: value})) for name, value in WRONG.items()} == {
        name: [name] for name in WRONG
    }
    for body, status in (({"dateOfBirth": "2020-01-01"}, 422), (b"{", 400)):
        assert_error(api.patch(ADA, body), status)
    assert row() == user


ADDRESSES = {
    "postal code of another country": ({"postalCode": "10118"}, ["postalCode"]),
    "province of another country": ({"province": "NY"}, ["province"]),
    "no postal code": ({"postalCode": ""}, ["postalCode"]),
    "country that fits neither stored code": ({"country": "US"}, ["country"]),
    "country that asks for less": ({"country": "GB"}, ["country"]),
    "country and postal code, stored province does not fit": (
        {"country": "US", "postalCode": "10118"},
        ["country"],
    ),
    "country and province, stored postal code does not fit": ({"country": "US", "province": "NY"}, ["country"]),
    "country, and codes that do not fit it": (
        {"country": "US", "postalCode": "M5X 1A9", "province": "ON"},
        ["postalCode", "province"],
    ),
    "a postal code of another type, and a province": ({"postalCode": 1, "province": "NY"}, ["postalCode", "province"]),
    "no country, and codes": ({"country": "ZZ", "postalCode": "?", "province": "?"}, ["country"]),
    "another field beside": ({"country": "US", "city": ""}, ["city", "country"]),
}


def test_an_update_is_checked_as_the_user_it_would_leave_and_names_what_was_sent(
    api: PartnerClient, user: dict[str, Any]
) -> None:
    found = {name: failing_fields(api.patch(ADA, sent)) for name, (sent, _named) in ADDRESSES.items()}
    assert found == {name: named for name, (_sent, named) in ADDRESSES.items()}
    assert row() == user


def test_a_country_alone_may_change_where_the_stored_codes_fit(
    api: PartnerClient, create_user: Callable[..., Response]
) -> None:
    create_user(externalId="ada", country="FR", postalCode="75001", province="")
    before = row()
    assert api.patch(ADA, {"country": "DE"}).status == 200
    assert changed(before) == {"country": "DE"}


def test_a_country_alone_does_not_rewrite_a_stored_code(
    api: PartnerClient, create_user: Callable[..., Response]
) -> None:
    create_user(externalId="ada", country="AW", postalCode="m5x1a9", province="ON")
    assert failing_fields(api.patch(ADA, {"country": "CA"})) == ["country"]
    assert api.patch(ADA, {"country": "CA", "postalCode": "m5x1a9"}).status == 200
    assert row()["postal_code"] == "M5X 1A9"


def test_codes_are_not_held_against_an_update_that_leaves_the_address_alone(
    api: PartnerClient, create_user: Callable[..., Response]
) -> None:
    create_user(externalId="ada", country="AW", postalCode="x 1", province="anywhere")
    before = row()
    assert api.patch(ADA, {"city": "Oranjestad"}).status == 200
    assert changed(before) == {"city": "Oranjestad"}


def test_a_user_can_be_updated_in_every_status(api: PartnerClient, user: dict[str, Any]) -> None:
    path = ["rejected", "pendingCompliance", "active", "suspended", "closed"]
    assert {*path} == {*Status}
    for status in path:
        factories.StatusChangeFactory.create(user=User.objects.get(), to_status=status)
        response = api.patch(ADA, {"city": f"City of the {status}"})
        assert (response.status, response.json()["status"]) == (200, status)
        assert row()["city"] == f"City of the {status}"


ANYTHING = {
    "valid body": b'{"city": "Ottawa"}',
    "failing field": b'{"city": ""}',
    "unknown field": b'{"x": 1}',
    "minor": b'{"dateOfBirth": "2020-01-01"}',
    "malformed": b"{",
    "empty": b"",
    "array": b"[]",
}


def test_another_partners_user_is_not_found_whatever_is_sent(other_api: PartnerClient, user: dict[str, Any]) -> None:
    for name, body in ANYTHING.items():
        foreign, absent = other_api.patch(ADA, body), other_api.patch("/v1/users/nobody", body)
        assert assert_error(foreign, 404)["message"] == assert_error(absent, 404)["message"], name
    assert row() == user


def test_an_update_reaches_the_partners_own_user_of_that_external_id(
    api: PartnerClient, other_api: PartnerClient, user: dict[str, Any]
) -> None:
    other_api.post("/v1/users", factories.user_body(externalId="ada"))
    api.patch(ADA, {"city": "Ottawa"})
    assert sorted(User.objects.values_list("city", flat=True)) == ["Ottawa", "Toronto"]


def test_the_history_keeps_each_state_of_a_user(api: PartnerClient, user: dict[str, Any]) -> None:
    api.patch(ADA, {"city": "Ottawa"})
    api.patch(ADA, {"city": "Ottawa"})
    api.patch(ADA, {"city": ""})
    events = UserEvent.objects.order_by("pgh_id").values_list("pgh_label", "city", "email", "updated_at")
    assert list(events) == [
        ("insert", "Toronto", "ada@example.com", user["updated_at"]),
        ("update", "Ottawa", "ada@example.com", row()["updated_at"]),
    ]


@pytest.mark.parametrize("key", [None, "3f1c2b7e-8d4a-4c55-9b1e-6a7f0e2d9c10"], ids=["no key", "idempotency key"])
def test_the_history_says_who_in_which_request(api: PartnerClient, partner: Partner, key: str | None) -> None:
    responses = [
        api.post("/v1/users", factories.user_body(externalId="ada"), key=key),
        api.patch(ADA, {"city": "Ottawa"}, key=key and key.replace("3f", "4f")),
    ]
    contexts = list(UserEvent.objects.order_by("pgh_id").values_list("pgh_context", flat=True))
    assert contexts == [
        {"partner": partner.slug, "key": api.api_key[:16], "requestId": response.header("X-Request-Id")}
        for response in responses
    ]
