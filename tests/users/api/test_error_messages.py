"""Errors name all that is wrong at once, and show a right value: contract, sections 1 and 2."""

from typing import Any

from tests import factories
from tests.support.client import PartnerClient, Response
from tests.support.responses import failing_fields

ADA = "/v1/users/ada"
# Wrong in every country, and wrong in none.
IN_EVERY_COUNTRY = {"postalCode": "1" * 17, "province": "O\u0007N"}
IN_SOME_COUNTRY = {"postalCode": "1" * 16, "province": "nowhere"}


def message(response: Response) -> str:
    (error,) = response.json()["fieldErrors"]
    return str(error["message"])


def test_a_bad_country_does_not_hide_what_does_not_depend_on_it(api: PartnerClient) -> None:
    body = factories.user_body(email="nobody", dateOfBirth="1990-02-30", isCiroAffiliate="no")
    del body["city"], body["country"]
    independent = ["email", "dateOfBirth", "city", "country", "isCiroAffiliate"]
    names = ["email", "dateOfBirth", "city", "postalCode", "province", "country", "isCiroAffiliate"]
    countries: list[dict[str, Any]] = [{"country": country} for country in ("XX", "CAN", "", None, 7)]
    for country in ({}, *countries):
        assert failing_fields(api.post("/v1/users", body | country | IN_SOME_COUNTRY)) == independent, country
        assert failing_fields(api.post("/v1/users", body | country | IN_EVERY_COUNTRY)) == names, country


def test_nor_in_an_update(api: PartnerClient) -> None:
    api.post("/v1/users", factories.user_body(externalId="ada"))
    changes = {"email": "nobody", "city": "", "country": "XX", "nickname": "Ada"}
    assert failing_fields(api.patch(ADA, changes)) == ["email", "city", "country", "nickname"]
    names = ["email", "city", "postalCode", "province", "country", "nickname"]
    assert failing_fields(api.patch(ADA, changes | IN_EVERY_COUNTRY)) == names


EXAMPLES = [
    ("externalId", "a\u00a0b", "cust-1001"),
    ("email", "nobody", "name@example.com"),
    ("email", "ada@partner.test", "name@example.com"),
    ("dateOfBirth", "31/01/1990", "1985-01-31"),
    ("country", "CAN", "CA"),
    ("postalCode", "12345", "H3Z 2Y7"),
    ("postalCode", "", "H3Z 2Y7"),
    ("province", "Ontario", "AB"),
    ("province", "", "AB"),
]


def test_a_message_shows_a_value_that_is_accepted(api: PartnerClient) -> None:
    for field, value, example in EXAMPLES:
        refused = api.post("/v1/users", factories.user_body(**{field: value}))
        assert message(refused).endswith(f"such as {example}."), (field, value)
        assert api.post("/v1/users", factories.user_body(**{field: example})).status == 201


def test_a_country_that_does_not_fit_says_what_to_send_with_it(api: PartnerClient) -> None:
    api.post("/v1/users", factories.user_body(externalId="ada"))
    told = message(api.patch(ADA, {"country": "US"}))
    assert told == "Does not match the user's postalCode and province: send their new values too."
    assert message(api.patch(ADA, {"country": "US", "province": "NY"})).endswith("postalCode: send its new value too.")
    assert api.patch(ADA, {"country": "US", "province": "NY", "postalCode": "10001"}).status == 200


def test_a_wrong_parameter_says_what_is_right(api: PartnerClient) -> None:
    told = [error["message"] for error in api.get("/v1/users?cursor=x&limit=0&status=new").json()["fieldErrors"]]
    assert told == [
        "Must be a nextCursor of this list, sent back unchanged; leave it out for the first page.",
        "Must be a whole number from 1 to 100.",
        "Must be one of: pendingCompliance, active, rejected, suspended, closed.",
    ]


def test_a_wrong_idempotency_key_shows_one_that_is_accepted(api: PartnerClient) -> None:
    told = message(api.post("/v1/users", factories.user_body(), key="1"))
    assert api.post("/v1/users", factories.user_body(), key=told.rpartition(" ")[2].rstrip(".")).status == 201
