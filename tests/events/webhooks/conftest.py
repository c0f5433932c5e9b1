"""A receiver on this machine, and `deliver_events` in this process or in one of its own."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import timedelta
from functools import partial
from typing import Any

import pytest

from events.models import WebhookEndpoint
from events.webhooks import deliveries, endpoints, results, sending
from events.webhooks import delivering as deliverer_module
from events.webhooks.delivering import Deliverer
from partners.models import Partner
from tests import factories
from tests.support import drift
from tests.support.delivering import delivering as run_delivering
from tests.support.receiver import Authority, Receiver
from tests.support.timeouts import WAIT_SECONDS


@pytest.fixture(scope="session")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority.create(tmp_path_factory.mktemp("authority"))


@pytest.fixture
def receiver(authority: Authority) -> Iterator[Receiver]:
    with authority.receiver() as receiver:
        yield receiver


@pytest.fixture
def loopback(settings: Any, authority: Authority) -> None:
    """Webhooks may go to this machine."""
    settings.DEBUG = settings.WEBHOOK_ALLOW_LOOPBACK = True
    settings.WEBHOOK_CA_BUNDLE = str(authority.bundle)


@pytest.fixture
def add_endpoint(loopback: None) -> Iterator[Callable[..., tuple[WebhookEndpoint, str]]]:
    """Add an endpoint at a receiver; return it and its secret. What arrives there is as the OpenAPI document says."""
    receivers: list[Receiver] = []

    def add(partner: Partner, receiver: Receiver, **fields: Any) -> tuple[WebhookEndpoint, str]:
        receivers.append(receiver)
        return factories.add_endpoint(partner=partner, url=receiver.url, **fields)

    yield add
    for receiver in receivers:
        for received in receiver.requests:
            drift.check_event(received.body)


@pytest.fixture
def endpoint(partner: Partner) -> WebhookEndpoint:
    return factories.WebhookEndpointFactory.create(partner=partner)


@pytest.fixture
def no_other_endpoint(committed_partner: Partner) -> None:
    """Disable those of tests before."""
    for endpoint in WebhookEndpoint.objects.all():
        endpoints.change_endpoint(endpoint, enabled=False)


@pytest.fixture
def late_retries(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have second attempts wait for an hour, longer than any test takes."""
    monkeypatch.setattr(results, "DELAYS", (timedelta(hours=1), *results.DELAYS[1:]))


@pytest.fixture
def delivering(loopback: None, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Run what `deliver_events` runs, in a thread of this process, while the block runs.

    Its attempts and leases last as long as a test waits for a condition.
    """
    monkeypatch.setattr(deliverer_module, "IDLE_SECONDS", 0.01)
    monkeypatch.setattr(deliverer_module, "RETRY_SECONDS", 0.1)
    monkeypatch.setattr(sending, "TIMEOUT_SECONDS", WAIT_SECONDS)
    monkeypatch.setattr(deliveries, "LEASE", timedelta(seconds=2 * WAIT_SECONDS))

    @contextmanager
    def run() -> Iterator[None]:
        deliverer = Deliverer()
        with ThreadPoolExecutor(1) as pool:
            running = pool.submit(deliverer.run)
            try:
                yield
            finally:
                deliverer.stop()
                running.result(WAIT_SECONDS)
                # Its database connection is closed before the test's end.
                deliverer._relay.join(WAIT_SECONDS)

    return run


@pytest.fixture
def process(authority: Authority) -> Any:
    """Run the command `deliver_events` while the block runs."""
    given = {"DEBUG": "true", "WEBHOOK_ALLOW_LOOPBACK": "true", "WEBHOOK_CA_BUNDLE": str(authority.bundle)}
    return partial(run_delivering, **given)
