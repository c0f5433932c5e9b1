"""Lists from a read replica, with a real primary and standby."""

import os
import signal
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

import pytest

from config.embedded.server import SERVICE_ROLE
from tests import factories
from tests.resilience.replica_pair import LIST_STATEMENT, Pair, following, issue_key
from tests.support.client import PartnerClient
from tests.support.prompt import once_prompt
from tests.support.watched import wait_until, watched
from transactions.keyset import Position
from transactions.replica import PAUSE_SECONDS

_numbers = count(1)
# As the log says it.
LEFT_OUT = "lists are read from the primary"


@pytest.fixture(scope="module")
def running() -> Iterator[Pair]:
    # Not pytest's folder: another run of pytest closes it to other accounts, the clusters' among them.
    with TemporaryDirectory() as folder, following(Path(folder)) as (primary, standby):
        api_key, secret = issue_key(primary)
        urls = {"DATABASE_URL": primary.url(SERVICE_ROLE), "REPLICA_DATABASE_URL": standby.url(SERVICE_ROLE)}
        with watched(Path(folder) / "log", **urls) as service:
            yield Pair(primary, standby, PartnerClient(api_key, secret, service.transport), service)


@pytest.fixture
def pair(running: Pair, user: Callable[[], tuple[str, str]]) -> Pair:
    """A pair whose standby is in use."""
    external_id, user_id = user()
    running.add_conversion(user_id, "2026-01-01T00:00:00Z")
    wait_until(running.caught_up)
    wait_until(lambda: running.standby_reads(external_id))
    return running


@pytest.fixture
def user(running: Pair) -> Callable[[], tuple[str, str]]:
    """Create a user; return externalId and userId."""

    def create() -> tuple[str, str]:
        made = running.api.post("/v1/users", factories.user_body(externalId=f"replicated-{next(_numbers)}")).json()
        return made["externalId"], made["userId"]

    return create


@pytest.fixture
def ada(pair: Pair, user: Callable[[], tuple[str, str]]) -> tuple[str, str]:
    """A user with one conversion, replicated."""
    external_id, user_id = user()
    pair.add_conversion(user_id, "2026-01-01T00:00:00Z")
    wait_until(pair.caught_up)
    return external_id, user_id


def failures(pair: Pair) -> int:
    """Count the requests that timed out on the replica."""
    return sum(LEFT_OUT in line and '"failure"' in line for line in pair.service.log.read_text().splitlines())


def moments(pair: Pair, external_id: str, query: str = "") -> list[str]:
    response = pair.api.get(f"/v1/users/{external_id}/transactions{query}")
    assert response.status == 200, response.body
    return [item["createdAt"][:10] for item in response.json()["items"]]


def test_a_list_takes_two_statements_and_the_replica_runs_that_of_the_page(pair: Pair, ada: tuple[str, str]) -> None:
    taken = set()
    # Now and then a look at the replica, or counts that are written, come between.
    for _ in range(6):
        with pair.primary.statements() as on_primary, pair.standby.statements() as on_standby:
            assert moments(pair, ada[0]) == ["2026-01-01"]
        taken.add((len(on_primary), len(on_standby)))
    assert min(taken) == (1, 1)


def test_documents_are_listed_from_the_replica_too(pair: Pair, ada: tuple[str, str]) -> None:
    def are_listed_from_the_standby() -> bool:
        with pair.standby.statements() as found:
            assert pair.api.get(f"/v1/users/{ada[0]}/documents").json()["items"] == []
        return any("FROM transactions_document" in statement for statement in found)

    wait_until(are_listed_from_the_standby)


def test_a_list_may_be_older_than_the_primary_but_a_user_never_is(pair: Pair, ada: tuple[str, str]) -> None:
    external_id, user_id = ada

    def is_older() -> bool:
        wait_until(pair.caught_up)
        before = moments(pair, external_id)
        with pair.standby.replay_paused():
            pair.add_conversion(user_id, "2026-02-02T00:00:00Z")
            listed = moments(pair, external_id)
            changed = pair.api.patch(f"/v1/users/{external_id}", {"city": "Ottawa"})
            assert pair.api.get(f"/v1/users/{external_id}").json()["updatedAt"] == changed.json()["updatedAt"]
        return listed == before

    # Where seconds pass between two requests, the primary is asked.
    wait_until(is_older)


def test_a_user_whom_the_replica_does_not_have_is_listed_from_the_primary(
    pair: Pair, user: Callable[[], tuple[str, str]]
) -> None:
    def are_both_asked() -> bool:
        wait_until(pair.caught_up)
        with pair.standby.replay_paused():
            external_id, user_id = user()
            assert moments(pair, external_id) == []
            pair.add_conversion(user_id, "2026-03-03T00:00:00Z")
            with pair.standby.statements() as found:
                assert moments(pair, external_id) == ["2026-03-03"]
        return any(LIST_STATEMENT in statement for statement in found)

    # Where seconds pass between two requests, the primary alone is asked.
    wait_until(are_both_asked)


def test_a_cursor_is_valid_before_its_row_is_replicated(pair: Pair, ada: tuple[str, str]) -> None:
    external_id, user_id = ada
    cursor = Position("2026-04-04T00:00:00.000000Z", 7).cursor()
    assert pair.api.get(f"/v1/users/{external_id}/transactions?cursor={cursor}").status == 400
    with pair.standby.replay_paused():
        pair.add_conversion(user_id, "2026-04-04T00:00:00Z", tiebreak=7)
        assert moments(pair, external_id, f"?cursor={cursor}") == ["2026-01-01"]


def test_a_replica_that_lags_is_not_used_until_it_has_caught_up(pair: Pair, ada: tuple[str, str]) -> None:
    external_id, user_id = ada
    with pair.standby.replay_paused():
        pair.add_conversion(user_id, "2026-05-05T00:00:00Z")
        wait_until(lambda: not pair.standby_reads(external_id))
        wait_until(lambda: moments(pair, external_id) == ["2026-05-05", "2026-01-01"])
    wait_until(lambda: pair.standby_reads(external_id))


def test_a_replica_that_hangs_delays_one_request_briefly(pair: Pair, ada: tuple[str, str]) -> None:
    def longest() -> tuple[float, None]:
        sessions = pair.standby.execute("SELECT pid FROM pg_stat_activity WHERE application_name = 'partner-service'")
        assert sessions
        for (pid,) in sessions:
            os.kill(pid, signal.SIGSTOP)
        failed_before, begun_at = failures(pair), time.monotonic()
        durations = []

        def ask() -> None:
            begun = time.monotonic()
            assert moments(pair, ada[0]) == ["2026-01-01"]
            durations.append(time.monotonic() - begun)

        try:
            while failures(pair) == failed_before:
                ask()
            for _ in range(20):
                ask()
            # It is tried again after a pause.
            assert failures(pair) - failed_before <= 1 + (time.monotonic() - begun_at) // PAUSE_SECONDS
        finally:
            for (pid,) in sessions:
                os.kill(pid, signal.SIGCONT)
        wait_until(lambda: pair.standby_reads(ada[0]))
        return max(durations), None

    once_prompt(longest)


def test_a_replica_that_stops_causes_no_error_and_is_used_again(pair: Pair, ada: tuple[str, str]) -> None:
    def ask_until(stopped: Callable[[], bool]) -> list[float]:
        durations = []
        while not stopped():
            begun = time.monotonic()
            assert moments(pair, ada[0]) == ["2026-01-01"]
            durations.append(time.monotonic() - begun)
        return durations

    with ThreadPoolExecutor(1) as pool:
        halting = pool.submit(pair.standby.halt)
        durations = ask_until(halting.done)
        end = time.monotonic() + 1
        durations += ask_until(lambda: time.monotonic() > end)
    # Not the longest of them: on a busy machine one may take as long as a wait for the replica.
    assert median(durations) < 0.9
    pair.standby.ensure_running()
    wait_until(lambda: pair.standby_reads(ada[0]))
