"""A slow Redis is treated like an unreachable one: docs/operations.md."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from pytest_django.fixtures import Settings

from core import circuit_breaker
from partners import redis_counter
from partners.api import throttling
from partners.models import Partner
from tests.slow.live.conftest import free_port
from tests.support.client import PartnerClient, Response
from tests.support.redis_process import own_redis
from tests.support.watched import Relay

pytestmark = pytest.mark.usefixtures("fresh_counter")

SLOW_SECONDS = redis_counter.REDIS_SLOW_SECONDS * 2
# Longer than any test takes.
PAUSE_SECONDS = 3600.0


class Clock:
    """Stands in for the module `time`: pauses are measured by a clock that the test may put ahead."""

    def __init__(self) -> None:
        self.ahead = 0.0

    def time(self) -> float:
        return time.time()

    def monotonic(self) -> float:
        return time.monotonic() + self.ahead


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    for module in (throttling, redis_counter, circuit_breaker):
        monkeypatch.setattr(module, "time", clock)
    monkeypatch.setattr(redis_counter, "REDIS_PAUSE_SECONDS", PAUSE_SECONDS)
    return clock


@pytest.fixture
def redis(tmp_path: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Iterator[Relay]:
    """The proxy through which the service reaches its Redis."""
    # A response is to be slow, however busy the machine, and never missing.
    monkeypatch.setattr(redis_counter, "REDIS_TIMEOUT_SECONDS", 30.0)
    port = free_port()
    relay = Relay(port)
    with own_redis(port, tmp_path):
        relay.begin()
        settings.REDIS_URL = f"redis://127.0.0.1:{relay.port}/0"
        yield relay
        relay.cut()


def left(response: Response) -> int:
    """How many requests are left, as RateLimit says."""
    return int((response.header("RateLimit") or "").partition(";r=")[2].partition(";")[0])


def requests_until_unasked(api: PartnerClient, redis: Relay) -> int:
    """How many requests are answered before one that does not ask Redis."""
    for number in range(100):
        before = redis.requests
        assert api.get("/v1/ping").status == 200
        if redis.requests == before:
            return number
    raise AssertionError("Each request still asks Redis.")


@pytest.mark.usefixtures("clock")
def test_after_a_few_slow_answers_no_request_waits_for_redis(
    api: PartnerClient, redis: Relay, caplog: pytest.LogCaptureFixture
) -> None:
    redis.delay = SLOW_SECONDS
    assert requests_until_unasked(api, redis) == redis_counter.REDIS_SLOW_RESPONSES
    asked = redis.requests
    responses = [api.get("/v1/ping") for _ in range(5)]
    assert [response.status for response in responses] == [200] * 5
    assert redis.requests == asked
    assert sum("Redis is slow" in record.getMessage() for record in caplog.records) == 1


def test_requests_are_counted_again_once_redis_is_quick(
    api: PartnerClient, redis: Relay, partner: Partner, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    Partner.objects.filter(pk=partner.pk).update(rate_limit="1000/hour")
    # No response is slow but those that the proxy delays.
    monkeypatch.setattr(redis_counter, "REDIS_SLOW_SECONDS", 30.0)
    assert left(api.get("/v1/ping")) == 999
    with monkeypatch.context() as slow:
        slow.setattr(redis_counter, "REDIS_SLOW_SECONDS", SLOW_SECONDS / 2)
        redis.delay = SLOW_SECONDS
        requests_until_unasked(api, redis)
    assert left(api.get("/v1/ping")) == 1000  # not counted
    redis.delay = 0.0
    clock.ahead = PAUSE_SECONDS
    assert left(api.get("/v1/ping")) < 1000


def test_after_the_pause_one_request_at_a_time_asks_redis_until_a_response_is_quick(
    api: PartnerClient, redis: Relay, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    redis.delay = SLOW_SECONDS
    requests_until_unasked(api, redis)
    clock.ahead += PAUSE_SECONDS
    assert requests_until_unasked(api, redis) == 1
    clock.ahead += PAUSE_SECONDS
    # The next one is quick, however busy the machine.
    monkeypatch.setattr(redis_counter, "REDIS_SLOW_SECONDS", 30.0)
    for _ in range(3):
        before = redis.requests
        assert api.get("/v1/ping").status == 200
        assert redis.requests > before


def test_the_first_request_of_a_window_gives_no_more_than_the_window(
    api: PartnerClient, redis: Relay, partner: Partner
) -> None:
    Partner.objects.filter(pk=partner.pk).update(rate_limit="1/hour")
    first, second = api.get("/v1/ping"), api.get("/v1/ping")
    assert [response.status for response in (first, second)] == [200, 429]
    assert all(int((response.header("RateLimit") or "").rpartition("=")[2]) <= 3600 for response in (first, second))
    assert int(second.header("Retry-After") or 0) <= 3600
