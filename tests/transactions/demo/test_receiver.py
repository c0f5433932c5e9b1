"""The demo's receiver answers as a partner's would: 2xx to what the endpoint's secret has signed, otherwise 401."""

import http.client
import json
import ssl
import uuid
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest
from standardwebhooks import Webhook

from tests.support.timeouts import WAIT_SECONDS
from transactions.demo.receiver import PATH, Received, Receiver, receiving

SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
EVENT = {"eventId": str(uuid.uuid4()), "type": "user.statusChanged"}
BODY = json.dumps(EVENT).encode()


@pytest.fixture
def arrived() -> list[Received]:
    return []


@pytest.fixture
def receiver(arrived: list[Received]) -> Iterator[Receiver]:
    with receiving() as running:
        running.use_secret(SECRET)
        running.on_receipt = arrived.append
        yield running


def post(receiver: Receiver, body: bytes = BODY, *, path: str = PATH, at: datetime | None = None) -> int:
    """The status of a webhook whose signature is that of BODY."""
    at = at or datetime.now(UTC)
    headers = {
        "webhook-id": EVENT["eventId"],
        "webhook-timestamp": str(int(at.timestamp())),
        "webhook-signature": Webhook(SECRET).sign(EVENT["eventId"], at, BODY.decode()),
    }
    trust = ssl.create_default_context(cafile=str(receiver.authorities))
    # Python's default since 3.13.
    trust.verify_flags |= ssl.VERIFY_X509_STRICT
    connection = http.client.HTTPSConnection("localhost", receiver.server_port, context=trust, timeout=WAIT_SECONDS)
    try:
        connection.request("POST", path, body, headers)
        return connection.getresponse().status
    finally:
        connection.close()


def test_a_signed_webhook_is_accepted_and_kept(receiver: Receiver, arrived: list[Received]) -> None:
    assert post(receiver) == 204
    received = receiver.wait_for(EVENT["eventId"], seconds=WAIT_SECONDS)
    assert received is not None
    assert (received.event, arrived) == (EVENT, [received])


def test_an_altered_body_an_old_timestamp_and_another_path_are_refused(
    receiver: Receiver, arrived: list[Received]
) -> None:
    assert post(receiver, BODY.replace(b"status", b"Status")) == 401
    assert post(receiver, at=datetime.now(UTC) - timedelta(minutes=10)) == 401
    assert post(receiver, path="/") == 401
    assert not arrived


def test_without_the_secret_everything_is_refused() -> None:
    with receiving() as receiver:
        assert post(receiver) == 401


def test_a_webhook_that_does_not_arrive_is_not_waited_for_without_end(receiver: Receiver) -> None:
    assert receiver.wait_for("another", seconds=0) is None
