"""Counts of requests: made in memory, written later, all of them and once."""

import os
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
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
from django.db.models import Model

from partners import keys, roles, sql, tallies, traffic, troubles
from partners.models import ApiKey, AuthenticationTrouble, ClockSkew, Partner, RequestCount
from partners.tallies import Seen
from partners.troubles import Cause
from tests.client import PartnerClient
from tests.timeouts import WAIT_SECONDS
from tests.watched import wait_until

PING = "/v1/ping"


def counted(partner: Partner) -> dict[int, int]:
    """The partner's requests of the last day by status."""
    return dict(traffic.of_partner(partner.pk, period=tallies.DAY).by_status)


def test_a_request_writes_nothing_by_itself(api: PartnerClient, partner: Partner) -> None:
    assert [api.get(PING).status, api.get(PING, secret="psi_secret_x").status] == [200, 401]
    assert counted(partner) == {}
    tallies.flush()
    assert counted(partner) == {200: 1, 401: 1}


def test_what_is_written_is_not_written_again(api: PartnerClient, partner: Partner) -> None:
    api.get(PING)
    # Its status and its clock.
    assert [tallies.flush(), tallies.flush()] == [2, 0]
    assert counted(partner) == {200: 1}


def test_counts_of_an_hour_add_up(api: PartnerClient, partner: Partner, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tallies, "tenths", lambda seconds: -1)
    for requests in (1, 2, 3):
        for _ in range(requests):
            api.get(PING)
        tallies.flush()
    row, skew = RequestCount.objects.get(partner=partner), ClockSkew.objects.get(partner=partner)
    assert (row.count, skew.count) == (6, 6)
    assert (row.hour.minute, row.hour.second, row.hour) == (0, 0, skew.hour)
    assert (row.key, skew.key) == (keys.find(api.api_key),) * 2


@pytest.mark.parametrize(
    ("seconds", "rounded"),
    [
        *((0, 0), (0.04, 0), (-0.06, -1), (9.94, 99), (9.96, 100), (12.4, 120), (-99.7, -1000)),
        *((104.9, 1000), (105.1, 1100), (-5399.6, -54_000), (86_400, 860_000), (2.5e11, 2_500_000_000_000)),
    ],
)
def test_a_difference_of_clocks_is_told_to_the_tenth_or_to_two_digits(seconds: float, rounded: int) -> None:
    assert tallies.tenths(seconds) == rounded


def test_there_are_few_differences_however_many_clocks() -> None:
    within_the_limit = {tallies.tenths(number / 100) for number in range(-30_000, 30_001)}
    assert len(within_the_limit) < 425


def of_stranger(number: int) -> Seen:
    return Seen(tallies.present_hour(), keys.digest(f"psi_key_{number}"), 401, cause=Cause.CLOCK_SKEW.value)


def test_whoever_sends_keys_at_random_does_not_fill_the_memory(
    api: PartnerClient, partner: Partner, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tallies, "MOST_UNPROVEN", 10)
    for number in range(100):
        tallies.add(of_stranger(number))
    assert len(tallies._pending.counted) == 11
    # Nor does it push aside those whose key is known.
    api.get(PING)
    tallies.flush()
    assert counted(partner) == {200: 1}
    assert [one.requests for one in troubles.of_partner(None)] == [100]


def test_however_many_keys_there_are_the_memory_is_bounded(db: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tallies, "MOST_COUNTERS", 10)
    for key_id in range(100):
        traffic.count(key_id, 200, replayed=False, skew_seconds=key_id)
    assert len(tallies._pending.counted) == 11
    assert sum(tallies._pending.counted.values()) == 100


def test_a_key_that_is_nobodys_is_counted_for_nobody(db: None) -> None:
    troubles.count(Cause.CLOCK_SKEW, "psi_key_nobodys", skew_seconds=4000)
    troubles.count(Cause.UNKNOWN_KEY, "psi_key_nobodys", skew_seconds=1)
    before = ApiKey.objects.count()
    tallies.flush()
    assert (ApiKey.objects.count(), RequestCount.objects.count(), ClockSkew.objects.count()) == (before, 0, 0)
    assert {one.cause for one in troubles.of_partner(None)} == {Cause.CLOCK_SKEW, Cause.UNKNOWN_KEY}


def failing(failure: type[Exception], *, after: int) -> Callable[..., int]:
    """A database that takes so many statements and then fails."""
    run, calls = sql.run, iter(range(100))

    def fail(*given: Any) -> int:
        if next(calls) >= after:
            raise failure
        return run(*given)

    return fail


@pytest.mark.parametrize("failure", [OperationalError, InternalError])
@pytest.mark.parametrize("after", [0, 1, 2])
def test_what_cannot_be_written_now_is_written_later_and_once(
    failure: type[DatabaseError], after: int, api: PartnerClient, partner: Partner, monkeypatch: pytest.MonkeyPatch
) -> None:
    api.get(PING)
    api.get(PING, secret="psi_secret_x")
    with monkeypatch.context() as database:
        database.setattr(sql, "run", failing(failure, after=after))
        with pytest.raises(failure):
            tallies.flush()
    api.get(PING)
    tallies.flush()
    assert counted(partner) == {200: 2, 401: 1}
    assert traffic.clocks(partner.pk, period=tallies.DAY)[""].requests == 3


def test_what_can_never_be_written_is_not_tried_for_ever(
    api: PartnerClient, partner: Partner, monkeypatch: pytest.MonkeyPatch
) -> None:
    api.get(PING)
    with monkeypatch.context() as database:
        database.setattr(sql, "run", failing(IntegrityError, after=0))
        with pytest.raises(DatabaseError):
            tallies.flush()
    assert tallies.flush() == 0


def test_one_writer_waits_for_all_that_is_counted(api: PartnerClient, monkeypatch: pytest.MonkeyPatch) -> None:
    start = Mock(return_value=True)
    monkeypatch.setattr(tallies, "_start_writer", start)
    for _ in range(3):
        api.get(PING)
    assert start.call_count == 1
    tallies.flush()
    api.get(PING)
    assert start.call_count == 2


def test_where_no_thread_is_to_be_had_requests_are_answered_and_counted(
    api: PartnerClient, partner: Partner, start_writer: Callable[[], bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    start = threading.Thread.start

    def fail(thread: threading.Thread) -> None:
        if thread.name == "tallies":
            raise RuntimeError("can't start new thread")
        start(thread)

    monkeypatch.setattr(tallies, "_start_writer", start_writer)
    monkeypatch.setattr(threading.Thread, "start", fail)
    assert [api.get(PING).status for _ in range(2)] == [200, 200]
    tallies.flush()
    assert counted(partner) == {200: 2}


def test_the_writer_has_a_session_of_its_own(committed_partner: Partner, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tallies, "FLUSH_SECONDS", 0.01)
    troubles.count(Cause.BAD_SIGNATURE, keys.issue(partner=committed_partner).api_key)
    writer = threading.Thread(target=tallies._write_in_a_while)
    writer.start()
    writer.join()
    assert counted(committed_partner) == {401: 1}


CAUSES = ("bad signature", "clock skew", "replay")


def refused(cause: str, skew_tenths: int | None = None) -> Seen:
    return Seen(tallies.present_hour(), None, 401, cause=cause, skew_tenths=skew_tenths)


# Of each table, what two processes have counted: the same three rows, met in two orders.
ROWS: dict[type[Model], tuple[list[Seen], list[Seen]]] = {
    RequestCount: (
        [Seen(tallies.present_hour(), None, status) for status in (200, 404, 500)],
        [Seen(tallies.present_hour(), None, status) for status in (500, 404, 200)],
    ),
    AuthenticationTrouble: ([refused(cause) for cause in CAUSES], [refused(cause) for cause in CAUSES[::-1]]),
    # Of two causes: they do not meet before.
    ClockSkew: ([refused("replay", skew) for skew in (-10, 0, 10)], [refused("clock skew", s) for s in (10, 0, -10)]),
}


def write(rows: list[Seen]) -> None:
    """As a process does that has counted these."""
    pending = tallies._Pending()
    for seen in rows:
        pending.add(seen)
    try:
        with transaction.atomic():
            tallies._write(pending.take())
    finally:
        connection.close()


def wait_for_sessions(count: int) -> None:
    """Until so many sessions wait for a lock."""
    waiting = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
    wait_until(lambda: sql.fetch_all(waiting, ()) == [(count,)])


@pytest.mark.parametrize("table", ROWS, ids=lambda table: table.__name__)
def test_two_that_write_at_once_do_not_stop_each_other(table: type[Model], committed_partner: Partner) -> None:
    key_id = keys.issue(partner=committed_partner).record.pk
    first, second = ([seen._replace(sender=key_id) for seen in rows] for rows in ROWS[table])
    write(first)
    rows = table._default_manager.filter(partner=committed_partner).order_by("pk")
    with ThreadPoolExecutor(2) as pool:
        # Whoever comes to the middle waits there: in two orders, each would have what the other wants next.
        with transaction.atomic(using=roles.OWNER):
            rows.using(roles.OWNER).select_for_update().get(pk=rows[1].pk)
            both = [pool.submit(write, first), pool.submit(write, second)]
            wait_for_sessions(2)
        for one in both:
            one.result()
    connections[roles.OWNER].close()
    assert list(rows.values_list("count", flat=True)) == [3, 3, 3]


def test_a_process_stops_though_its_counts_cannot_be_written() -> None:
    code = (
        "import django; django.setup(set_prefix=False)\n"
        "from partners import tallies\n"
        "tallies.add(tallies.Seen(tallies.present_hour(), 1, 200))\n"
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
    assert stopped.stderr.count("are lost") == 1
