"""Registering a user: contract, section 9."""

import json
from collections.abc import Callable
from uuid import UUID

from partners.models import Partner
from tests import factories
from tests.support.client import PartnerClient, Response
from tests.support.responses import assert_error
from tests.users.sending import columns_of
from users.models import User


def test_a_created_user_is_answered_and_awaits_compliance(api: PartnerClient) -> None:
    response = api.post("/v1/users", factories.user_body(externalId="ada"))
    assert response.status == 201
    assert response.json() == {
        "userId": str(User.objects.get().pk),
        "externalId": "ada",
        "status": "pendingCompliance",
    }
    assert UUID(response.json()["userId"]).version == 4


def test_a_created_user_is_stored_whole_and_belongs_to_the_partner(
    create_user: Callable[..., Response], partner: Partner
) -> None:
    create_user(externalId="ada")
    user = dict(User.objects.values().get())
    assert all(user.pop(name) for name in ("id", "created_at", "updated_at", "status_since", "waiting_since"))
    assert json.loads(json.dumps(user, default=str)) == {
        "partner_id": partner.pk,
        **columns_of(factories.user_body(externalId="ada")),
        "status": "pendingCompliance",
        "profile_changed_at": None,
        "identity_changed_at": None,
        "name_key": "ada byron",
        "name_words": "'*a' '*b' 'ada' 'byron'",
        "is_sandbox": False,
        "status_reason_code": "",
        "open_requirements": 0,
        "requirements_due_at": None,
        "answered_at": None,
        "answered_requirements": 0,
    }


def test_a_second_address_line_may_be_left_out(api: PartnerClient) -> None:
    body = factories.user_body()
    del body["addressLine2"]
    assert api.post("/v1/users", body).status == 201
    assert User.objects.get().address_line2 == ""


LOCATIONS = {
    "user-1_2.3~4": "/v1/users/user-1_2.3~4",
    "é": "/v1/users/%C3%A9",
    "a b": "/v1/users/a%20b",
    "a+b": "/v1/users/a%2Bb",
    "100%": "/v1/users/100%25",
    "%FF": "/v1/users/%25FF",
    "a?b": "/v1/users/a%3Fb",
    "a#b": "/v1/users/a%23b",
    "a&b=c;d:@": "/v1/users/a%26b%3Dc%3Bd%3A%40",
    "😀": "/v1/users/%F0%9F%98%80",
    "...": "/v1/users/...",
}


def test_a_created_user_is_found_at_its_location(api: PartnerClient, create_user: Callable[..., Response]) -> None:
    for external_id, location in LOCATIONS.items():
        created = create_user(externalId=external_id)
        assert created.header("Location") == location
        assert api.get(location).json()["userId"] == created.json()["userId"]
        assert api.get(f"{location}/transactions").json()["externalId"] == external_id


def test_an_external_id_that_the_partner_has_is_a_conflict(api: PartnerClient) -> None:
    first = api.post("/v1/users", factories.user_body(externalId="ada"))
    response = api.post("/v1/users", factories.user_body(externalId="ada", city="Ottawa"))
    assert assert_error(response, 409)["error"] == "conflict"
    assert response.header("Location") is None
    assert (str(User.objects.get().pk), User.objects.get().city) == (first.json()["userId"], "Toronto")


def test_an_external_id_of_another_partner_is_free(
    create_user: Callable[..., Response], other_api: PartnerClient
) -> None:
    create_user(externalId="ada")
    assert other_api.post("/v1/users", factories.user_body(externalId="ada")).status == 201
    assert User.objects.filter(external_id="ada").count() == 2


def test_one_person_may_be_several_users(create_user: Callable[..., Response]) -> None:
    create_user(externalId="one")
    create_user(externalId="two")
    assert User.objects.filter(email="ada@example.com").count() == 2
