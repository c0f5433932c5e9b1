"""Redis goes while partners are at work: no request fails."""

import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from redis import Redis
from redis.exceptions import RedisError

from partners.models import Partner
from tests import factories
from tests.live.conftest import free_port, serving
from tests.resilience.load import load
from tests.watched import wait_until

AWAY_SECONDS = 3.0


@contextmanager
def redis(port: int, folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A Redis of the test's own."""
    program = shutil.which("redis-server")
    if program is None:
        pytest.skip("There is no redis-server.")
    process = subprocess.Popen(
        [program, "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--dir", str(folder)],
        stdout=subprocess.DEVNULL,
    )
    try:
        with Redis(port=port) as client:
            wait_until(lambda: is_there(client))
        yield process
    finally:
        process.kill()
        process.wait()


def is_there(client: "Redis") -> bool:
    try:
        return bool(client.ping())
    except RedisError:
        return False


def mixed(number: int) -> tuple[str, str, object]:
    """A read from one half of the clients, a write from the other."""
    return ("GET", "/v1/ping", None) if number % 2 else ("POST", "/v1/users", factories.user_body())


def test_a_redis_that_stops_and_starts_under_load_costs_no_request(
    partner: Partner, tmp_path: Path, django_db_setup: None
) -> None:
    port = free_port()
    with redis(port, tmp_path) as first, serving(REDIS_URL=f"redis://127.0.0.1:{port}/0", WEB_WORKERS="2") as server:
        api = factories.client_of(partner, server.transport)
        with load(api, server.port, mixed, pause=0.01) as tally:
            wait_until(lambda: tally.answered >= 100)
            first.terminate()
            time.sleep(AWAY_SECONDS)
            with redis(port, tmp_path), Redis(port=port) as client:
                # The counts are kept there again.
                wait_until(lambda: client.dbsize() > 0)
    print(f"{dict(tally.statuses)}, slowest {tally.slowest:.2f} s")  # noqa: T201 - figures, shown with -s
    assert (tally.failures, set(tally.statuses)) == ([], {200, 201})
