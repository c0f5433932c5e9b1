"""Each of fieldErrors has a code for programs: contract, section 1."""

import json
import uuid
from typing import Any

from tests import factories
from tests.support.client import PartnerClient
from tests.support.responses import codes

CREATES: list[tuple[dict[str, Any], str]] = [
    ({"firstName": None}, "type"),
    ({"firstName": 7}, "type"),
    ({"firstName": ""}, "length"),
    ({"dateOfBirth": ""}, "length"),
    ({"country": ""}, "length"),
    ({"firstName": "a" * 101}, "length"),
    ({"firstName": "a\u0007"}, "format"),
    ({"externalId": "a/b"}, "format"),
    ({"externalId": "\u2800"}, "format"),
    ({"city": "\u200b"}, "format"),
    ({"externalId": "a" * 129}, "length"),
    ({"email": "nobody"}, "format"),
    ({"email": "a" * 255}, "length"),
    ({"dateOfBirth": "1990-02-30"}, "format"),
    ({"dateOfBirth": "1899-12-31"}, "range"),
    ({"dateOfBirth": "2999-12-31"}, "range"),
    ({"country": "XX"}, "notAllowed"),
    ({"country": "US", "postalCode": "10001", "province": "ZZ"}, "notAllowed"),
    ({"country": "US", "postalCode": "x", "province": "NY"}, "format"),
    ({"country": "US", "postalCode": "10001", "province": ""}, "length"),
    ({"postalCode": ""}, "length"),
    ({"isCiroAffiliate": "true"}, "type"),
    ({"isCiroAffiliate": None}, "type"),
    ({"nickname": "Ada"}, "unknown"),
]


def test_of_a_create(api: PartnerClient) -> None:
    found = [(change, {*codes(api.post("/v1/users", factories.user_body(**change))).values()}) for change, _ in CREATES]
    assert found == [(change, {code}) for change, code in CREATES]


def test_of_a_missing_field(api: PartnerClient) -> None:
    assert set(codes(api.post("/v1/users", {})).values()) == {"required"}


def test_of_a_field_that_only_the_country_requires(api: PartnerClient) -> None:
    body = factories.user_body()
    del body["postalCode"], body["province"]
    assert codes(api.post("/v1/users", body)) == {"postalCode": "required", "province": "required"}


def test_of_a_duplicate_field(api: PartnerClient) -> None:
    body = json.dumps(factories.user_body())[:-1] + ', "city": "Ottawa"}'
    assert codes(api.post("/v1/users", body.encode())) == {"city": "duplicate"}


def test_of_an_update(api: PartnerClient) -> None:
    api.post("/v1/users", factories.user_body(externalId="ada", country="CA", province="ON"))
    assert codes(api.patch("/v1/users/ada", {"externalId": "eve"})) == {"externalId": "notAllowed"}
    assert codes(api.patch("/v1/users/ada", {"country": "US"})) == {"country": "inconsistent"}
    assert codes(api.patch("/v1/users/ada", {"postalCode": ""})) == {"postalCode": "length"}


def test_of_a_path_and_of_parameters(api: PartnerClient) -> None:
    api.post("/v1/users", factories.user_body(externalId="ada"))
    assert codes(api.get("/v1/users/%20ada")) == {"externalId": "format"}
    path = "/v1/users/ada/transactions"
    assert codes(api.get(f"{path}?cursor=x&limit=0")) == {"cursor": "format", "limit": "range"}
    assert codes(api.get(f"{path}?limit=ten")) == {"limit": "format"}
    assert codes(api.get(f"{path}?limit=5&limit=6&cursor=a&cursor=b")) == {"cursor": "duplicate", "limit": "duplicate"}


def test_of_an_idempotency_key(api: PartnerClient) -> None:
    key = str(uuid.uuid4())
    api.post("/v1/users", factories.user_body(externalId="ada"), key=key)
    assert codes(api.post("/v1/users", factories.user_body(externalId="bob"), key=key)) == {
        "Idempotency-Key": "inconsistent"
    }
    assert codes(api.post("/v1/users", factories.user_body(), key="1")) == {"Idempotency-Key": "format"}
