"""Rate limits: contract, section 5."""

import os
import re
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from pytest_django.fixtures import Settings

from core import circuit_breaker
from core.formats import parse_rate
from partners.api import throttling
from partners.models import Partner
from tests import factories
from tests.slow.live.conftest import free_port
from tests.support.client import PartnerClient, Response, in_process
from tests.support.redis_process import own_redis
from tests.support.responses import assert_error
from tests.support.timeouts import WAIT_SECONDS
from tests.support.watched import wait_until

GIVEN_REDIS = os.environ["TEST_REDIS_URL"]


pytestmark = pytest.mark.usefixtures("fresh_counter")


class Clock:
    """Stands in for the module `time`: the clock that windows and pauses are measured by stands still."""

    def __init__(self) -> None:
        self.now = 1_800_000_000.0

    def time(self) -> float:
        return self.now

    monotonic = perf_counter = time


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    for module in (throttling, circuit_breaker):
        monkeypatch.setattr(module, "time", clock)
    return clock


@pytest.fixture
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """A Redis that a busy machine keeps waiting is not taken for one that does not answer."""
    monkeypatch.setattr(throttling, "REDIS_TIMEOUT_SECONDS", WAIT_SECONDS)


@pytest.fixture
def limit(partner: Partner) -> Callable[[str], None]:
    """Sets the partner's own limit."""

    def set_limit(rate: str) -> None:
        Partner.objects.filter(pk=partner.pk).update(rate_limit=rate)

    return set_limit


def counts(response: Response) -> tuple[int, int]:
    """What is left, and in how many seconds the window ends."""
    match = re.fullmatch(r'"default";r=(\d+);t=([1-9]\d*)', response.header("RateLimit") or "")
    assert match is not None, response.headers
    return int(match[1]), int(match[2])


def test_a_response_has_the_policy_and_the_remaining_quota(api: PartnerClient, settings: Settings) -> None:
    settings.PARTNER_RATE_LIMIT = "600/minute"
    responses = [api.get("/v1/ping") for _ in range(3)]
    assert {response.header("RateLimit-Policy") for response in responses} == {'"default";q=600;w=60'}
    assert [counts(response)[0] for response in responses] == [599, 598, 597]
    assert all(1 <= counts(response)[1] <= 60 for response in responses)


def test_every_authenticated_answer_gives_it(api: PartnerClient) -> None:
    requests = [("GET", "/v1/ping", 200), ("POST", "/v1/users", 400), ("GET", "/v1/users/nobody", 404)]
    for number, (method, target, status) in enumerate(requests, start=1):
        response = api.send(method, target)
        assert response.status == status
        assert response.header("RateLimit-Policy") == '"default";q=1000000;w=60'
        assert counts(response)[0] == 1_000_000 - number


@pytest.mark.parametrize(
    "headers", [{"X-Request-Signature": "0" * 64}, {"X-Api-Key": None}], ids=["forged", "unsigned"]
)
def test_an_unauthenticated_request_gets_no_rate_limit_headers_and_is_not_counted(
    api: PartnerClient, limit: Callable[[str], None], headers: dict[str, str | None]
) -> None:
    limit("1/hour")
    refused = [api.get("/v1/ping", headers=headers) for _ in range(3)]
    assert {(r.status, r.header("RateLimit"), r.header("RateLimit-Policy")) for r in refused} == {(401, None, None)}
    assert api.get("/v1/ping").status == 200


def test_a_partners_own_limit_goes_before_the_default(api: PartnerClient, limit: Callable[[str], None]) -> None:
    for unit, seconds in {"second": 1, "minute": 60, "hour": 3600, "day": 86400}.items():
        limit(f"2/{unit}")
        response = api.get("/v1/ping")
        assert response.header("RateLimit-Policy") == f'"default";q=2;w={seconds}'
        assert counts(response)[0] == 1


def test_beyond_the_limit_a_request_is_refused(api: PartnerClient, limit: Callable[[str], None]) -> None:
    limit("2/hour")
    assert [api.get("/v1/ping").status for _ in range(2)] == [200, 200]
    response = api.get("/v1/ping")
    assert assert_error(response, 429)["error"] == "too_many_requests"
    assert re.fullmatch(r"[1-9]\d*", response.header("Retry-After") or "")
    assert counts(response) == (0, int(response.header("Retry-After") or 0))
    assert int(response.header("Retry-After") or 0) <= 3600


def test_after_the_window_requests_pass_again(api: PartnerClient, limit: Callable[[str], None], clock: Clock) -> None:
    limit("1/second")
    assert api.get("/v1/ping").status == 200
    refused = api.get("/v1/ping")
    assert (refused.status, refused.header("Retry-After")) == (429, "1")
    clock.now += 1.1
    assert api.get("/v1/ping").status == 200


def test_partners_are_counted_apart_and_keys_of_one_together(
    api: PartnerClient, other_api: PartnerClient, partner: Partner, limit: Callable[[str], None]
) -> None:
    limit("1/hour")
    assert api.get("/v1/ping").status == 200
    assert factories.client_of(partner, in_process).get("/v1/ping").status == 429
    assert other_api.get("/v1/ping").status == 200


@pytest.fixture
def redis_server(tmp_path: Path) -> Iterator[tuple[int, subprocess.Popen[bytes]]]:
    """A Redis of the test's own: its port and its process."""
    port = free_port()
    with own_redis(port, tmp_path) as process:
        yield port, process


def url_of(port: int) -> str:
    return f"redis://127.0.0.1:{port}/0"


@pytest.fixture
def redis_url(request: pytest.FixtureRequest) -> str:
    """The environment's Redis where it names one, else one of the test's own."""
    if GIVEN_REDIS:
        return GIVEN_REDIS
    return url_of(request.getfixturevalue("redis_server")[0])


@pytest.mark.usefixtures("patience")
def test_the_count_is_shared_where_there_is_a_redis(redis_url: str) -> None:
    begun = time.time()
    one, other = throttling.RedisCounter(redis_url), throttling.RedisCounter(redis_url)
    rate, partner_id = parse_rate("5/minute"), time.time_ns()
    counted = [counter.hit(rate, partner_id) for counter in (one, other, one, other)]
    assert [count for count, _ in counted] == [1, 2, 3, 4]
    # Redis tells the rest of a window in whole seconds.
    assert all(begun + 59 <= reset <= time.time() + 61 for _, reset in counted)


def test_without_a_redis_each_process_counts_for_itself() -> None:
    rate = parse_rate("5/minute")
    assert [throttling.MemoryCounter().hit(rate, 1)[0] for _ in range(2)] == [1, 1]


def test_another_rate_begins_another_window(clock: Clock) -> None:
    counter = throttling.MemoryCounter()
    rates = [parse_rate(text) for text in ("5/minute", "5/minute", "9/minute", "5/minute")]
    assert [counter.hit(rate, 1)[0] for rate in rates] == [1, 2, 1, 1]
    clock.now += 60
    assert counter.hit(rates[0], 1) == (1, clock.now + 60)


def test_simultaneous_requests_of_a_window_are_all_counted() -> None:
    rate = parse_rate("1000/minute")
    with ThreadPoolExecutor(8) as pool:
        for _ in range(20):
            counter = throttling.MemoryCounter()
            counter.hit(rate, 1)
            list(pool.map(lambda _, counter=counter: counter.hit(rate, 1), range(8)))
            assert counter.hit(rate, 1)[0] == 10


@pytest.mark.usefixtures("patience")
def test_a_limit_holds_across_processes(
    api: PartnerClient, limit: Callable[[str], None], settings: Settings, redis_url: str
) -> None:
    settings.REDIS_URL = redis_url
    limit("2/minute")
    statuses = []
    for _ in range(3):
        throttling._counter.cache_clear()  # as another process would begin
        response = api.get("/v1/ping")
        statuses.append(response.status)
        # Redis rounds.
        assert counts(response)[1] <= 60
    assert statuses == [200, 200, 429]


@pytest.fixture(params=["nobody listens", "nobody answers"])
def dead_redis(request: pytest.FixtureRequest, settings: Settings) -> Iterator[None]:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        if request.param == "nobody listens":
            silent.close()
        settings.REDIS_URL = url_of(port)
        yield


def failures(caplog: pytest.LogCaptureFixture) -> int:
    return sum("Redis failed" in record.getMessage() for record in caplog.records)


@pytest.mark.usefixtures("dead_redis", "clock")
def test_where_redis_does_not_answer_requests_pass_and_the_failure_is_logged(
    api: PartnerClient, limit: Callable[[str], None], caplog: pytest.LogCaptureFixture
) -> None:
    limit("1/minute")
    responses = [api.get("/v1/ping") for _ in range(3)]
    assert [response.status for response in responses] == [200, 200, 200]
    assert counts(responses[0]) == (1, 60)
    assert failures(caplog) == 1


@pytest.mark.usefixtures("dead_redis")
def test_only_the_first_request_of_a_pause_waits_for_a_redis_that_does_not_answer(
    api: PartnerClient, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    # Each attempt that waits in vain is logged.
    for attempts in (1, 2):
        for _ in range(5):
            api.get("/v1/ping")
        assert failures(caplog) == attempts
        clock.now += throttling.REDIS_PAUSE_SECONDS


def test_a_redis_that_answers_again_is_counted_with_again(
    api: PartnerClient,
    limit: Callable[[str], None],
    settings: Settings,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    redis_server: tuple[int, subprocess.Popen[bytes]],
) -> None:
    port, process = redis_server
    settings.REDIS_URL = url_of(port)
    monkeypatch.setattr(throttling, "REDIS_PAUSE_SECONDS", 0.0)
    limit("1000/hour")

    def is_counted() -> bool:
        return counts(api.get("/v1/ping"))[0] < 1000

    # On a busy machine even this Redis may once be late.
    wait_until(is_counted)
    before = failures(caplog)
    process.send_signal(signal.SIGSTOP)
    assert [is_counted() for _ in range(2)] == [False, False]
    assert failures(caplog) == before + 2
    process.send_signal(signal.SIGCONT)
    wait_until(is_counted)
