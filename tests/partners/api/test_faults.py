"""X-Sandbox-Fault: contract, section 11."""

import uuid
from collections.abc import Callable
from http.client import IncompleteRead
from unittest.mock import Mock

import pytest

from partners.models import Partner
from partners.monitoring import metrics
from sandbox import faults
from tests import factories
from tests.support.client import PartnerClient, Response
from tests.support.responses import assert_error, failing_fields
from users.models import User

HEADER = "X-Sandbox-Fault"


def create(client: PartnerClient, fault: str, **options: str) -> Response:
    return client.post("/v1/users", factories.user_body(externalId="ada"), headers={HEADER: fault}, **options)


@pytest.mark.parametrize(("fault", "status"), [("tooManyRequests", 429), ("internalError", 500), ("unavailable", 503)])
def test_a_refusal_does_nothing(sandbox: PartnerClient, fault: str, status: int) -> None:
    response = create(sandbox, fault)

    assert_error(response, status)
    assert (response.header("Retry-After") is not None) == (status in {429, 503})
    assert not User.objects.exists()


def test_a_simulated_failure_is_not_counted_among_real_ones(
    sandbox: PartnerClient, api: PartnerClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    counted: list[bool] = []
    monkeypatch.setattr(metrics._seconds, "labels", lambda *_: Mock(observe=lambda _: counted.append(True)))
    monkeypatch.setattr(metrics, "_series", {})
    create(sandbox, "internalError")
    assert counted == []
    # The thread's next request is.
    create(api, "internalError")
    assert counted == [True]


def test_a_simulated_failure_is_one_line_in_the_log(sandbox: PartnerClient, caplog: pytest.LogCaptureFixture) -> None:
    create(sandbox, "internalError")
    with pytest.raises(IncompleteRead):
        create(sandbox, "lostAnswer")
    assert [(record.name, record.levelname) for record in caplog.records] == [("partners.request", "INFO")] * 2


def test_a_slow_request_is_done(sandbox: PartnerClient, monkeypatch: pytest.MonkeyPatch) -> None:
    waits: list[float] = []
    monkeypatch.setattr(faults, "time", Mock(sleep=waits.append))

    assert create(sandbox, "slow").status == 201
    assert waits == [5.0]


def test_a_slow_write_whose_response_is_stored_does_not_wait(
    sandbox: PartnerClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    waits: list[float] = []
    monkeypatch.setattr(faults, "time", Mock(sleep=waits.append))

    key = str(uuid.uuid4())
    once, again = (create(sandbox, "slow", key=key) for _ in range(2))
    assert (once.body, again.header("Idempotent-Replayed")) == (again.body, "true")
    assert waits == [5.0]


def test_a_lost_response_is_of_a_write_that_was_done(sandbox: PartnerClient) -> None:
    key = str(uuid.uuid4())
    with pytest.raises(IncompleteRead):
        create(sandbox, "lostAnswer", key=key)

    assert User.objects.get().external_id == "ada"
    assert sandbox.get(f"/v1/idempotency-keys/{key}").json()["status"] == 201
    again = sandbox.post("/v1/users", factories.user_body(externalId="ada"), key=key)
    assert (again.status, again.header("Idempotent-Replayed")) == (201, "true")


def test_an_error_is_lost_too(sandbox: PartnerClient) -> None:
    with pytest.raises(IncompleteRead):
        sandbox.get("/v1/users/nobody", headers={HEADER: "lostAnswer"})


@pytest.mark.parametrize("value", ["", "slower", "SLOW", "slow, slow"])
def test_another_value_is_refused(sandbox: PartnerClient, value: str) -> None:
    assert failing_fields(create(sandbox, value)) == [HEADER]
    assert not User.objects.exists()


@pytest.mark.parametrize("value", [*faults.Fault, "nonsense"])
def test_a_live_partner_s_header_is_ignored(api: PartnerClient, partner: Partner, value: str) -> None:
    assert create(api, value).status == 201


def test_the_answers_are_counted_against_the_rate_limit(
    sandbox: PartnerClient, fresh_counter: Callable[[], None]
) -> None:
    responses = [create(sandbox, "unavailable") for _ in range(2)]

    left = [str(response.header("RateLimit")).split(";")[1] for response in responses]
    assert left[0] != left[1]
