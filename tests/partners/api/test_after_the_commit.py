"""Failures after the commit are logged and do not change a success into an error."""

from collections.abc import Callable
from unittest.mock import Mock
from uuid import uuid4

import pytest

from partners.api import middleware
from partners.models import Partner
from partners.monitoring import metrics
from tests import factories
from tests.support.client import PartnerClient, Response
from users.models import User


def crash(*_: object, **__: object) -> None:
    raise OSError("no room for Ada Byron")


BREAK: dict[str, Callable[[pytest.MonkeyPatch], object]] = {
    "metrics": lambda patch: patch.setattr(metrics, "count_request", crash),
    "the log line": lambda patch: patch.setattr(middleware, "_log_and_count", crash),
}
REQUESTS: dict[str, tuple[int, Callable[[PartnerClient, str], Response]]] = {
    "read": (200, lambda api, _: api.get("/v1/users/ada")),
    "create": (201, lambda api, key: api.post("/v1/users", factories.user_body(externalId="bob"), key=key)),
    "update": (200, lambda api, key: api.patch("/v1/users/ada", {"city": "Regina"}, key=key)),
}


@pytest.fixture(autouse=True)
def ada(create_user: Callable[..., Response]) -> None:
    create_user(externalId="ada")


@pytest.mark.parametrize("break_it", BREAK.values(), ids=BREAK)
@pytest.mark.parametrize(("status", "send"), REQUESTS.values(), ids=REQUESTS)
def test_a_success_stays_one_and_the_failure_is_logged(
    api: PartnerClient,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    status: int,
    send: Callable[[PartnerClient, str], Response],
    break_it: Callable[[pytest.MonkeyPatch], object],
) -> None:
    key = str(uuid4())
    break_it(monkeypatch)
    first = send(api, key)
    assert (first.status, bool(first.header("X-Request-Id"))) == (status, True)
    assert "builtins.OSError" in caplog.text
    assert "Ada" not in caplog.text
    again = send(api, key)
    assert (again.status, again.body) == (status, first.body)


def test_a_write_succeeds_where_nothing_at_all_can_be_logged(
    api: PartnerClient, partner: Partner, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = Mock(**{f"{level}.side_effect": OSError for level in ("info", "warning", "error", "exception")})
    monkeypatch.setattr(metrics, "count_request", crash)
    monkeypatch.setattr(middleware, "log", broken)
    response = api.patch("/v1/users/ada", {"city": "Regina"})
    assert response.status == 200
    assert broken.info.called
    assert broken.exception.called
    assert User.objects.get(partner=partner).city == "Regina"


@pytest.mark.parametrize("break_it", BREAK.values(), ids=BREAK)
def test_an_error_response_stays_the_same(
    api: PartnerClient, monkeypatch: pytest.MonkeyPatch, break_it: Callable[[pytest.MonkeyPatch], object]
) -> None:
    break_it(monkeypatch)
    assert api.get("/v1/users/nobody").status == 404
    assert api.post("/v1/users", {}).status == 400
