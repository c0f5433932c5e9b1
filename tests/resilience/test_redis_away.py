"""Redis stops and starts under load: no request fails."""

import time
from pathlib import Path

from redis import Redis

from partners.models import Partner
from tests import factories
from tests.resilience.load import load
from tests.slow.live.conftest import free_port, serving
from tests.support.redis_process import own_redis
from tests.support.watched import wait_until

AWAY_SECONDS = 3.0


def mixed(number: int) -> tuple[str, str, object]:
    """Return a read for half of the clients, a write for the others."""
    return ("GET", "/v1/ping", None) if number % 2 else ("POST", "/v1/users", factories.user_body())


def test_no_request_fails_while_redis_stops_and_starts(partner: Partner, tmp_path: Path, django_db_setup: None) -> None:
    port = free_port()
    with (
        own_redis(port, tmp_path) as first,
        serving(REDIS_URL=f"redis://127.0.0.1:{port}/0") as server,
    ):
        api = factories.client_of(partner, server.transport)
        with load(api, server.port, mixed, pause=0.01) as tally:
            wait_until(lambda: tally.answered >= 100)
            first.terminate()
            time.sleep(AWAY_SECONDS)
            with own_redis(port, tmp_path), Redis(port=port) as client:
                # The counts are kept there again.
                wait_until(lambda: client.dbsize() > 0)
    print(f"{dict(tally.statuses)}, slowest {tally.slowest:.2f} s")  # noqa: T201 - figures, shown with -s
    assert (tally.failures, set(tally.statuses)) == ([], {200, 201})
