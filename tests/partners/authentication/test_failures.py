"""Each refusal has its cause in the log and in the metrics; the partner sees one text for most."""

from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest
from structlog.testing import capture_logs

from partners.authentication import keys
from partners.authentication.signature_authentication import AuthenticationFailure
from partners.models import Partner
from tests.support.client import PartnerClient, Response, in_process
from tests.support.metrics import totals

PING = "/v1/ping"


def ping_after(change: Callable[[PartnerClient], object]) -> Callable[[PartnerClient], Response]:
    def attempt(api: PartnerClient) -> Response:
        change(api)
        return api.get(PING)

    return attempt


Attempt = Callable[[PartnerClient], Response]
ATTEMPTS: dict[str, tuple[AuthenticationFailure, Attempt]] = {
    "no signature": (
        AuthenticationFailure.MISSING_HEADER,
        lambda api: api.get(PING, headers={"X-Request-Signature": None}),
    ),
    "timestamp no date": (AuthenticationFailure.MALFORMED_TIMESTAMP, lambda api: api.get(PING, timestamp="yesterday")),
    "clock behind": (
        AuthenticationFailure.CLOCK_SKEW,
        lambda api: api.get(PING, timestamp=(datetime.now(UTC) - timedelta(hours=1)).isoformat()),
    ),
    "clock of another age": (
        AuthenticationFailure.CLOCK_SKEW,
        lambda api: api.get(PING, timestamp="0001-06-01T00:00:00Z"),
    ),
    "unknown key": (
        AuthenticationFailure.UNKNOWN_KEY,
        lambda api: api.get(PING, headers={"X-Api-Key": keys.find(api.api_key).prefix + "x" * 35}),
    ),
    "another secret": (AuthenticationFailure.BAD_SIGNATURE, lambda api: api.get(PING, secret="psi_secret_x")),
    "key revoked": (
        AuthenticationFailure.NOT_IN_FORCE,
        ping_after(lambda api: keys.revoke(keys.find(api.api_key))),
    ),
    "partner disabled": (
        AuthenticationFailure.NOT_IN_FORCE,
        ping_after(lambda _: Partner.objects.update(enabled=False)),
    ),
}


def refusals() -> Counter[str]:
    return totals("psi_unauthorized_total", "cause")


@pytest.mark.parametrize(("cause", "attempt"), ATTEMPTS.values(), ids=ATTEMPTS)
def test_each_cause_is_logged_and_counted_with_the_key_that_was_sent(
    api: PartnerClient, caplog: pytest.LogCaptureFixture, cause: AuthenticationFailure, attempt: Attempt
) -> None:
    prefix, before = keys.find(api.api_key).prefix, refusals()
    with capture_logs() as lines:
        assert attempt(api).status == 401
    assert [line["cause"] for line in lines if line["event"] == "unauthorized"] == [cause.value]
    assert [line["key"] for line in lines if line["event"] == "request"] == [prefix]
    assert refusals() - before == {cause.value: 1}
    assert not any(hidden in f"{lines}{caplog.text}" for hidden in (api.secret, api.api_key))


def test_an_update_that_is_sent_again_is_a_replay(api: PartnerClient, create_user: Callable[..., Response]) -> None:
    create_user(externalId="ada")
    body = b'{"city": "Ottawa"}'
    headers = api.headers("PATCH", "/v1/users/ada", body, key=None, timestamp=None, secret=None)
    before = refusals()
    assert [in_process("PATCH", "/v1/users/ada", headers, body).status for _ in range(2)] == [200, 401]
    assert refusals() - before == {AuthenticationFailure.REPLAY.value: 1}


@pytest.mark.parametrize("sent", [None, "ada@example.com", "psi_secret_of-a-confused-client"])
def test_what_is_no_key_is_not_logged(api: PartnerClient, sent: str | None) -> None:
    with capture_logs() as lines:
        assert api.get(PING, headers={"X-Api-Key": sent}).status == 401
    assert [line["key"] for line in lines if line["event"] == "request"] == [None]
