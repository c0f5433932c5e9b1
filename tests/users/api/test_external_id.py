"""A partner's own identifier of a user, in a body and in a path: contract, section 2."""

from collections.abc import Callable
from urllib.parse import quote

import pytest

from tests import factories
from tests.support.client import PartnerClient, Response
from tests.support.responses import failing_fields
from tests.users.sending import refused
from users.models import User

GOOD_IDENTIFIERS = [
    "a",
    "A",
    "a b",
    "user-1_2.3~4",
    "a.",
    "...",
    "é",
    "e\u0301",
    "漢字",
    "\u3164a",
    "😀",
    "٣",
    "Ⅷ",
    "a+b",
    "a%b",
    "%FF",
    "%25",
    "a?b#c",
    "a&b=c;d",
    "a\\b",
    "<\"'>",
    "{}[]|^`",
    "€",
    "«a»",
    "a" * 128,
    "é" * 128,
    "😀" * 128,
]
BAD_IDENTIFIERS = [
    ".",
    "..",
    " a",
    "a ",
    " ",
    "\u00a0",
    "a\u00a0b",
    "a\u2003b",
    "a\u2028b",
    "a\u200db",
    "a\u200bb",
    "\ufeffa",
    "a\u00ad",
    "a\u202eb",
    "a\tb",
    "a\nb",
    "a\n",
    "\x00",
    "\x7f",
    "a\x85",
    "\ue000",
    "\u0378",
    "\u3164",
    "\u2800\uffa0",
    "\u0301",
    "a" * 129,
    "é" * 129,
]


@pytest.mark.parametrize("external_id", GOOD_IDENTIFIERS, ids=ascii)
def test_an_identifier_is_kept_exactly(api: PartnerClient, external_id: str) -> None:
    response = api.post("/v1/users", factories.user_body(externalId=external_id))
    assert response.status == 201, response.body
    assert response.json()["externalId"] == external_id == User.objects.get().external_id
    assert api.get(f"/v1/users/{quote(external_id, safe='')}").json()["externalId"] == external_id


@pytest.mark.parametrize("external_id", ["", "a/b", "/", "\ud800", *BAD_IDENTIFIERS], ids=ascii)
def test_a_create_refuses_what_is_no_identifier(api: PartnerClient, external_id: str) -> None:
    assert refused(api.post("/v1/users", factories.user_body(externalId=external_id))) == ["externalId"]


@pytest.mark.parametrize("value", [1, 1.5, True, None, [], {}], ids=repr)
def test_an_identifier_is_a_string(api: PartnerClient, value: object) -> None:
    assert refused(api.post("/v1/users", factories.user_body(externalId=value))) == ["externalId"]


@pytest.mark.parametrize("external_id", BAD_IDENTIFIERS, ids=ascii)
@pytest.mark.parametrize(("method", "below"), [("GET", ""), ("PATCH", ""), ("GET", "/transactions")])
def test_a_path_refuses_what_is_no_identifier(api: PartnerClient, external_id: str, method: str, below: str) -> None:
    response = api.send(method, f"/v1/users/{quote(external_id, safe='')}{below}")
    assert failing_fields(response) == ["externalId"]


@pytest.mark.parametrize(
    ("one", "other"), [("a", "A"), ("é", "e\u0301"), ("Å", "\u212b"), ("ß", "ss"), ("a", "a."), ("1", "01")]
)
def test_identifiers_are_compared_exactly(create_user: Callable[..., Response], one: str, other: str) -> None:
    assert create_user(externalId=one).json()["userId"] != create_user(externalId=other).json()["userId"]
