"""The parameters of lists: contract, section 6."""

from collections.abc import Callable

import pytest

from tests import factories
from tests.support.client import PartnerClient, Response
from tests.support.documents import add_documents
from tests.support.events import place_events
from tests.support.responses import failing_fields
from users.models import User

TRANSACTIONS = "/v1/users/ada/transactions"
LISTS = [TRANSACTIONS, "/v1/users/ada/documents", "/v1/users", "/v1/events"]


@pytest.fixture(autouse=True)
def rows(create_user: Callable[..., Response]) -> None:
    """Some in each list."""
    ada = User.objects.get(pk=create_user(externalId="ada").json()["userId"])
    create_user(externalId="bob")
    factories.add_conversions(ada, [factories.NOON] * 3)
    add_documents(ada, [factories.NOON] * 3)
    place_events()


NO_LIMITS = [
    "limit=0",
    "limit=000",
    "limit=101",
    "limit=1000",
    "limit=" + "9" * 5000,
    "limit=1" + "0" * 30,
    "limit=-1",
    "limit=%2B5",
    "limit=+5",
    "limit=%205",
    "limit=5%20",
    "limit=5%0A",
    "limit=5.0",
    "limit=5,0",
    "limit=1e1",
    "limit=0x5",
    "limit=1_0",
    "limit=five",
    "limit=null",
    "limit=%D9%A1",
    "limit=%EF%BC%95",
    "limit=%C2%B2",
    "limit=",
    "limit",
    "limit=5&limit=5",
    "limit=5&limit=",
    "limit=&limit=5",
    "%6Cimit=0",
]


def test_a_limit_is_a_whole_number_from_1_to_100(api: PartnerClient, sandbox: PartnerClient) -> None:
    for query in NO_LIMITS:
        assert failing_fields(api.get(f"{TRANSACTIONS}?{query}")) == ["limit"], query
    for path in LISTS:
        assert failing_fields(api.get(f"{path}?limit=101")) == ["limit"], path
        assert api.get(f"{path}?limit=100").status == 200, path
    assert failing_fields(sandbox.get("/v1/sandbox/requests?limit=101")) == ["limit"]


def test_a_cursor_is_given_once(api: PartnerClient) -> None:
    for path in LISTS:
        cursor = api.get(f"{path}?limit=1").json()["nextCursor"]
        for query in ("cursor={0}&cursor={0}", "cursor={0}&cursor=", "cursor", "cursor=&cursor={0}"):
            assert failing_fields(api.get(f"{path}?{query.format(cursor)}")) == ["cursor"], (path, query)


def test_other_parameters_are_ignored(api: PartnerClient) -> None:
    query = "offset=1&Limit=0&LIMIT=0&page=2&page=3&=&limit%20=0&order=asc&type=user.renamed"
    for path in LISTS:
        assert api.get(f"{path}?{query}").body == api.get(path).body, path


def test_all_failing_parameters_are_named_before_the_user_is_looked_for(api: PartnerClient) -> None:
    expected = {path: ["cursor", "limit"] for path in LISTS}
    for path in LISTS[:2]:
        expected[path.replace("ada", "nobody")] = ["cursor", "limit"]
        expected[path.replace("ada", "%07")] = ["externalId", "cursor", "limit"]
    assert {path: failing_fields(api.get(f"{path}?limit=0&cursor=x")) for path in expected} == expected
