"""That tests/support/internal.py, which reads all that partners get in the suite, finds what is for staff alone."""

import json
from collections.abc import Callable

import pytest

from tests.support import internal
from tests.support.client import PartnerClient, Response


@pytest.mark.parametrize(
    "value", ["fraudSuspected", "listed", "unusualActivity", "samePerson", internal.REASON, "staff-12"]
)
def test_it_is_found_wherever_it_is(value: str) -> None:
    for body in ({"statusReason": value}, {"items": [{"data": {"x": value}}]}, {value: 1}):
        with pytest.raises(internal.InternalError, match="for staff alone"):
            internal.check(json.dumps(body).encode())


def test_what_a_partner_may_read_is_not() -> None:
    internal.check(b'{"statusReason": "notServed", "code": "other", "fields": ["postalCode"], "message": "A list."}')
    internal.check(b"%PDF listed")


def test_each_response_of_a_test_is_read(
    api: PartnerClient, create_user: Callable[..., Response], monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(internal.InternalError):
        create_user(externalId="listed")
