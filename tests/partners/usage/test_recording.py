"""Usage counters are counted in memory and written later, each request once."""

import os
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from typing import Any
from unittest.mock import Mock

import pytest
from django.db import (
    DatabaseError,
    IntegrityError,
    InternalError,
    OperationalError,
    connection,
    connections,
    transaction,
)

from partners.authentication import keys
from partners.db import serving_role, statements
from partners.models import ApiKey, ApiUsage, Partner
from partners.usage import clock_skew, recording, reports
from partners.usage.failures import AuthenticationFailure
from partners.usage.recording import Group
from tests.support.client import PartnerClient
from tests.support.locks import wait_for_sessions
from tests.support.timeouts import WAIT_SECONDS

PING = "/v1/ping"


def counted(partner: Partner) -> dict[int, int]:
    """The partner's requests of the last day by status."""
    return dict(reports.requests_of(partner.pk, period=reports.DAY).by_status)


def test_a_request_writes_nothing_by_itself(api: PartnerClient, partner: Partner) -> None:
    assert [api.get(PING).status, api.get(PING, secret="psi_secret_x").status] == [200, 401]
    assert counted(partner) == {}
    recording.flush()
    assert counted(partner) == {200: 1, 401: 1}


def test_counts_are_written_once(api: PartnerClient, partner: Partner) -> None:
    api.get(PING)
    assert [recording.flush(), recording.flush()] == [1, 0]
    assert counted(partner) == {200: 1}


def test_counts_of_an_hour_add_up(api: PartnerClient, partner: Partner) -> None:
    timestamp = datetime.now(UTC).isoformat()
    for requests in (1, 2, 3):
        for _ in range(requests):
            api.get(PING, timestamp=timestamp)
        recording.flush()
    rows = ApiUsage.objects.filter(partner=partner)
    # On a slow machine the clock skew grows meanwhile.
    assert sum(row.count for row in rows) == 6
    assert {(row.key, row.hour.minute, row.hour.second) for row in rows} == {(keys.find(api.api_key), 0, 0)}


def test_requests_that_are_alike_are_one_row(partner: Partner) -> None:
    key = keys.issue(partner=partner)
    for _ in range(3):
        recording.record_answer(keys.digest(key.api_key), 200, replayed=False, skew_seconds=1)
        recording.flush()
    row = ApiUsage.objects.get(partner=partner)
    assert (row.key, row.status, row.count, row.skew_seconds) == (key.record, 200, 3, 1)


@pytest.mark.parametrize(
    ("seconds", "rounded"),
    [
        *((0, 0), (0.4, 0), (-0.6, -1), (12.4, 12), (-99.4, -99)),
        *((104.9, 100), (105.1, 110), (-5399.6, -5400), (86_400, 86_000), (2.5e11, 250_000_000_000)),
    ],
)
def test_clock_skew_is_rounded_to_seconds_and_to_two_digits(seconds: float, rounded: int) -> None:
    assert clock_skew.rounded(seconds) == rounded


def test_there_are_few_skews_however_many_clocks() -> None:
    within_the_limit = {clock_skew.rounded(number / 100) for number in range(-30_000, 30_001)}
    assert len(within_the_limit) < 250


def record_stranger(number: int) -> None:
    recording.record_failure(AuthenticationFailure.CLOCK_SKEW, keys.digest(f"psi_key_{number}"), skew_seconds=4000)


def test_random_keys_do_not_fill_the_memory(
    api: PartnerClient, partner: Partner, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recording, "MAX_UNVERIFIED_COUNTERS", 10)
    for number in range(100):
        record_stranger(number)
    assert len(recording._counters.counts) == 11
    # Nor does it push aside those whose key is known.
    api.get(PING)
    recording.flush()
    assert counted(partner) == {200: 1}
    assert [one.requests for one in reports.failures_of(None)] == [100]


def test_however_many_keys_there_are_the_memory_is_bounded(db: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recording, "MAX_COUNTERS", 10)
    for number in range(100):
        recording.record_answer(bytes([number]), 200, replayed=False, skew_seconds=number)
    assert len(recording._counters.counts) == 11
    assert sum(recording._counters.counts.values()) == 100


def test_an_unknown_key_is_counted_without_a_partner(db: None) -> None:
    recording.record_failure(AuthenticationFailure.CLOCK_SKEW, keys.digest("psi_key_nobodys"), skew_seconds=4000)
    recording.record_failure(AuthenticationFailure.UNKNOWN_KEY, keys.digest("psi_key_nobodys"), skew_seconds=1)
    before = ApiKey.objects.count()
    recording.flush()
    assert ApiKey.objects.count() == before
    rows = list(ApiUsage.objects.all())
    assert [(row.partner, row.key, row.skew_seconds) for row in rows] == [(None, None, None)] * 2
    assert {one.failure for one in reports.failures_of(None)} == {
        AuthenticationFailure.CLOCK_SKEW,
        AuthenticationFailure.UNKNOWN_KEY,
    }


def failing(failure: type[Exception], *, is_late: bool = False) -> Callable[..., int]:
    """A database that fails, where is_late after the statement and before the commit."""
    run = statements.run

    def fail(*given: Any) -> int:
        if is_late:
            run(*given)
        raise failure

    return fail


@pytest.mark.parametrize("failure", [OperationalError, InternalError])
@pytest.mark.parametrize("moment", ["at the statement", "at the commit"])
def test_counts_that_cannot_be_written_now_are_written_later_and_once(
    failure: type[DatabaseError], moment: str, api: PartnerClient, partner: Partner, monkeypatch: pytest.MonkeyPatch
) -> None:
    api.get(PING)
    api.get(PING, secret="psi_secret_x")
    with monkeypatch.context() as database:
        database.setattr(statements, "run", failing(failure, is_late=moment == "at the commit"))
        with pytest.raises(failure):
            recording.flush()
    api.get(PING)
    recording.flush()
    assert counted(partner) == {200: 2, 401: 1}
    skew = reports.clock_skew_of(partner.pk, period=reports.DAY)
    assert skew is not None
    assert skew.requests == 3


def test_counts_that_can_never_be_written_are_discarded(
    api: PartnerClient, partner: Partner, monkeypatch: pytest.MonkeyPatch
) -> None:
    api.get(PING)
    with monkeypatch.context() as database:
        database.setattr(statements, "run", failing(IntegrityError))
        with pytest.raises(DatabaseError):
            recording.flush()
    assert recording.flush() == 0


def test_one_writer_waits_for_all_that_is_counted(api: PartnerClient, monkeypatch: pytest.MonkeyPatch) -> None:
    start = Mock(return_value=True)
    monkeypatch.setattr(recording, "_start_writer", start)
    for _ in range(3):
        api.get(PING)
    assert start.call_count == 1
    recording.flush()
    api.get(PING)
    assert start.call_count == 2


def test_where_no_thread_is_to_be_had_requests_are_answered_and_counted(
    api: PartnerClient, partner: Partner, start_writer: Callable[[], bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    start = threading.Thread.start

    def fail(thread: threading.Thread) -> None:
        if thread.name == "usage":
            raise RuntimeError("can't start new thread")
        start(thread)

    monkeypatch.setattr(recording, "_start_writer", start_writer)
    monkeypatch.setattr(threading.Thread, "start", fail)
    assert [api.get(PING).status for _ in range(2)] == [200, 200]
    recording.flush()
    assert counted(partner) == {200: 2}


def test_the_writer_has_a_session_of_its_own(committed_partner: Partner, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recording, "FLUSH_SECONDS", 0.01)
    recording.record_failure(
        AuthenticationFailure.BAD_SIGNATURE, bytes(keys.issue(partner=committed_partner).record.digest)
    )
    writer = threading.Thread(target=recording._write_later)
    writer.start()
    writer.join()
    assert counted(committed_partner) == {401: 1}


def write(groups: list[Group]) -> None:
    """As a process does that has counted these."""
    try:
        recording._write(dict.fromkeys(groups, 1))
    finally:
        connection.close()


# What differs between rows, with three values each.
COLUMNS: dict[str, tuple[Any, Any, Any]] = {
    "status": (200, 404, 500),
    "failure": ("bad signature", "clock skew", "replay"),
    "skew_seconds": (-1, 0, 1),
}


@pytest.mark.parametrize("column", COLUMNS)
def test_two_that_write_at_once_do_not_stop_each_other(column: str, committed_partner: Partner) -> None:
    digest = keys.digest(keys.issue(partner=committed_partner).api_key)
    group = Group(recording.present_hour(), digest, 401)
    first = [group._replace(**{column: value}) for value in COLUMNS[column]]
    write(first)
    rows = ApiUsage.objects.filter(partner=committed_partner).order_by(column)
    with ThreadPoolExecutor(2) as pool:
        # Both wait for the row in the middle: in two orders, each would hold what the other needs next.
        with transaction.atomic(using=serving_role.OWNER):
            rows.using(serving_role.OWNER).select_for_update().get(pk=rows[1].pk)
            both = [pool.submit(write, first), pool.submit(write, first[::-1])]
            wait_for_sessions(2)
        for one in both:
            one.result()
    connections[serving_role.OWNER].close()
    assert list(rows.values_list("count", flat=True)) == [3, 3, 3]


def test_a_process_stops_though_its_counts_cannot_be_written() -> None:
    code = (
        "import django; django.setup(set_prefix=False)\n"
        "from partners.usage import recording\n"
        "recording.record_answer(bytes(32), 200, replayed=False, skew_seconds=0)\n"
    )
    away = {
        "DJANGO_SETTINGS_MODULE": "config.settings",
        "DATABASE_URL": "postgresql://service@/absent?host=/nonexistent",
    }
    stopped = subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | away,
        capture_output=True,
        text=True,
        timeout=WAIT_SECONDS,
        check=True,
    )
    assert stopped.stderr.count("could not be written") == 1
    assert stopped.stderr.count("lost at exit") == 1
