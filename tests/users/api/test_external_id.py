"""A partner's own identifier of a user, in a body and in a path: contract, section 2."""

from urllib.parse import quote

from tests import factories
from tests.support.client import PartnerClient
from tests.support.responses import failing_fields
from users.models import User

GOOD_IDENTIFIERS = ["a", "A", "a b", "user-1_2.3~4", "a.", "...", "a" * 128, "1", "01"]
GOOD_IDENTIFIERS += ["é", "e\u0301", "Å", "\u212b", "ß", "ss", "漢字", "\u3164a", "😀", "٣", "Ⅷ", "é" * 128, "😀" * 128]
GOOD_IDENTIFIERS += ["a+b", "a%b", "%FF", "%25", "a?b#c", "a&b=c;d", "a\\b", "<\"'>", "{}[]|^`", "€", "«a»"]
BAD_IDENTIFIERS = [".", "..", "a" * 129, "é" * 129]
# White space at an end, and that of other scripts anywhere.
BAD_IDENTIFIERS += [" a", "a ", " ", "\u00a0", "a\u00a0b", "a\u2003b", "a\u2028b"]
# Control and format characters, unassigned ones, and what is not seen alone.
BAD_IDENTIFIERS += [
    "a\tb",
    "a\nb",
    "a\n",
    "\x00",
    "\x7f",
    "a\x85",
    "a\u200db",
    "a\u200bb",
    "\ufeffa",
    "a\u00ad",
    "a\u202eb",
]
BAD_IDENTIFIERS += ["\ue000", "\u0378", "\u3164", "\u2800\uffa0", "\u0301"]


def test_an_identifier_is_kept_and_compared_exactly(api: PartnerClient) -> None:
    user_ids = {}
    for external_id in GOOD_IDENTIFIERS:
        response = api.post("/v1/users", factories.user_body(externalId=external_id))
        assert response.status == 201, (external_id, response.body)
        user_ids[external_id] = response.json()["userId"]
        assert response.json()["externalId"] == external_id
    assert len({*user_ids.values()}) == len(GOOD_IDENTIFIERS)
    assert {user.external_id: str(user.pk) for user in User.objects.all()} == user_ids
    read = [api.get(f"/v1/users/{quote(external_id, safe='')}").json() for external_id in GOOD_IDENTIFIERS]
    assert {user["externalId"]: user["userId"] for user in read} == user_ids


def test_a_create_refuses_what_is_no_identifier(api: PartnerClient) -> None:
    values: list[object] = ["", "a/b", "/", "\ud800", *BAD_IDENTIFIERS, 1, 1.5, True, None, [], {}]
    for value in values:
        response = api.post("/v1/users", factories.user_body(externalId=value))
        assert failing_fields(response) == ["externalId"], ascii(value)
    assert not User.objects.exists()


def test_a_path_refuses_what_is_no_identifier(api: PartnerClient) -> None:
    ways = [("GET", "", external_id) for external_id in BAD_IDENTIFIERS]
    ways += [(*way, external_id) for way in (("PATCH", ""), ("GET", "/transactions")) for external_id in ("..", "a\tb")]
    for method, below, external_id in ways:
        response = api.send(method, f"/v1/users/{quote(external_id, safe='')}{below}")
        assert failing_fields(response) == ["externalId"], (method, below, ascii(external_id))
