"""Imports that are stopped, fail or are dry runs: the counts are right, and another run completes them."""

import gzip
import io
import json
import os
import pty
import signal
import subprocess
import termios
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.db import OperationalError, connection
from django.db.utils import DataError

from core.database import serving_role, statements
from core.models import AuditEntry
from partners.models import Partner
from tests.conftest import database_url
from tests.support.forked import Forks, forks
from tests.transactions.imports.running import (
    Line,
    Result,
    end_waiting_session,
    held_up,
    in_batches,
    last_counts,
    manage,
    ndjson,
    stored,
    wait_until_held_up,
    write,
)
from transactions import imports, management
from transactions.management.commands import import_conversions
from transactions.models import IMPORT_ENDED, Conversion

AGAIN = "Run it again: lines imported already are unchanged."
UNREACHABLE = "The database cannot be reached, or did not respond in time."


@pytest.fixture(scope="module")
def forked(django_db_setup: None) -> Iterator[Forks]:
    given = {"DJANGO_SETTINGS_MODULE": "config.settings", "DATABASE_URL": database_url(serving_role.SERVING)}
    with forks(given) as running:
        yield running


def test_a_killed_import_can_be_run_again(tmp_path: Path, line: Line, committed_partner: Partner) -> None:
    file = write(tmp_path / "f", *(line(n) for n in range(import_conversions.Command.batch_lines + 10)))
    with held_up(committed_partner, f"cv-{import_conversions.Command.batch_lines}"):
        process = manage("import_conversions", str(file))
        # The first batch is stored, the second on its way.
        wait_until_held_up()
        process.kill()
        process.communicate()
    count = import_conversions.Command.batch_lines
    assert len(stored(committed_partner)) == count
    assert Result(file).counts == (10, count, 0)


def test_a_compressed_file_is_imported_through_zcat(
    line: Line, tmp_path: Path, committed_partner: Partner, forked: Forks
) -> None:
    (tmp_path / "f.gz").write_bytes(gzip.compress(ndjson(line(1), line(2))))
    unpacked = subprocess.run(["zcat", str(tmp_path / "f.gz")], capture_output=True, check=True).stdout.decode()
    # Without a terminal no bar is shown.
    ended = forked.run("import_conversions", "-", stdin=unpacked)
    assert ended == (0, "2 imported, 0 unchanged, 0 rejected.\n", "")
    assert len(stored(committed_partner)) == 2


@contextmanager
def obeyed(number: signal.Signals) -> Iterator[None]:
    """Whatever the tests themselves were started to ignore, as under nohup."""
    before = signal.signal(number, signal.SIG_DFL)
    try:
        yield
    finally:
        signal.signal(number, before)


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_a_signal_ends_an_import_after_its_batch(
    tmp_path: Path,
    line: Line,
    committed_partner: Partner,
    monkeypatch: pytest.MonkeyPatch,
    number: signal.Signals,
    status: int,
) -> None:
    in_batches(monkeypatch, 10)
    file = write(tmp_path / "f", *(line(n) for n in range(9)), line(10, rate="0"), line(11))
    with obeyed(number), held_up(committed_partner, "cv-7") as blocker, ThreadPoolExecutor(1) as pool:

        def end_it() -> None:
            wait_until_held_up()
            os.kill(os.getpid(), number)
            blocker.rollback()

        ending = pool.submit(end_it)
        result = Result(file)
        ending.result()
    assert result.status == status
    (rejected,) = result.errors
    assert rejected.startswith("line 10: ")
    counts = "9 imported, 0 unchanged, 1 rejected"
    assert result.reason == f"Stopped by {number.name}. The last line processed is 10 ({counts}). {AGAIN}"
    assert len(stored(committed_partner)) == 9
    assert last_counts() == {"file": "f", "imported": 9, "unchanged": 0, "rejected": 1}


def test_an_import_outlives_lost_connections_and_counts_each_line_once(
    tmp_path: Path, line: Line, committed_partner: Partner, monkeypatch: pytest.MonkeyPatch
) -> None:
    in_batches(monkeypatch, 10)
    monkeypatch.setattr(management, "RETRY_PAUSES", (0.01,) * len(management.RETRY_PAUSES))
    file = write(tmp_path / "f", *(line(n) for n in range(15)))
    with held_up(committed_partner, "cv-7") as first, held_up(committed_partner, "cv-10") as second:

        def lose_connections() -> None:
            end_waiting_session()
            first.rollback()
            # The second batch twice.
            end_waiting_session()
            end_waiting_session()
            second.rollback()

        with ThreadPoolExecutor(1) as pool:
            losing = pool.submit(lose_connections)
            result = Result(file)
            losing.result()
    assert (result.status, result.counts) == (0, (15, 0, 0)), result.reason
    assert len(stored(committed_partner)) == 15


def lose_the_connection(*_: Any, **__: Any) -> None:
    connection.close()
    raise OperationalError("gone")


def refuse_a_statement(*_: Any, **__: Any) -> None:
    statements.fetch_one("SELECT 1 / %s", (0,))


def lose_the_server(*_: Any, **__: Any) -> None:
    statements.fetch_one("SELECT pg_terminate_backend(pg_backend_pid())", ())


def failing_after_the_first(monkeypatch: pytest.MonkeyPatch, failure: Callable[..., None]) -> Callable[..., Any]:
    """Batches of two lines, of which the first is stored. Returns what stores them."""
    in_batches(monkeypatch, 2)
    monkeypatch.setattr(management, "RETRY_PAUSES", (0.01, 0.01))
    original = imports.store
    stores = iter([original])

    def store(*args: Any, **options: Any) -> Any:
        return next(stores, failure)(*args, **options)

    monkeypatch.setattr(imports, "store", store)
    return original


@pytest.mark.parametrize("failure", [lose_the_connection, lose_the_server])
def test_an_unreachable_database_ends_the_import_with_its_counts(
    tmp_path: Path,
    line: Line,
    committed_partner: Partner,
    monkeypatch: pytest.MonkeyPatch,
    failure: Callable[..., None],
) -> None:
    original = failing_after_the_first(monkeypatch, failure)
    file = write(tmp_path / "f", *(line(n) for n in range(7)))
    result = Result(file)
    counts = "(2 imported, 0 unchanged, 0 rejected)"
    assert (result.status, result.reason) == (1, f"{UNREACHABLE} The last line processed is 2 {counts}. {AGAIN}")
    assert last_counts()["imported"] == len(stored(committed_partner)) == 2
    monkeypatch.setattr(imports, "store", original)
    assert Result(file).counts == (5, 2, 0)


def test_what_fails_otherwise_leaves_the_counts_too(
    tmp_path: Path, line: Line, committed_partner: Partner, monkeypatch: pytest.MonkeyPatch
) -> None:
    failing_after_the_first(monkeypatch, refuse_a_statement)
    with pytest.raises(DataError):
        Result(write(tmp_path / "f", *(line(n) for n in range(7))))
    assert last_counts()["imported"] == len(stored(committed_partner)) == 2


def test_a_dry_run_reports_what_an_import_will_report_and_writes_nothing(
    tmp_path: Path, line: Line, committed_partner: Partner
) -> None:
    Result(write(tmp_path / "known", *(line(n) for n in range(4))))
    lines = [line(n) for n in range(2, 9)]
    again = [line(8), line(5), line(5, rate="9"), line(3, rate="9"), line(20, externalId="stranger"), b"{"]
    file = write(tmp_path / "f", *lines, *again, line(9), line(9), line(10), line(2))
    before = stored(committed_partner), AuditEntry.objects.count()
    dry = Result(file, "--dry-run", "--rejects", str(tmp_path / "dry"))
    assert (stored(committed_partner), AuditEntry.objects.count()) == before
    done = Result(file, "--rejects", str(tmp_path / "rejects"))
    assert (dry.counts, dry.status, dry.errors) == (done.counts, done.status, done.errors)
    assert done.counts == (7, 6, 4)
    assert (tmp_path / "dry").read_bytes() == (tmp_path / "rejects").read_bytes()


def test_a_broken_standard_error_costs_no_rejected_line(
    tmp_path: Path, line: Line, committed_partner: Partner, forked: Forks
) -> None:
    bad = import_conversions.Command.batch_lines + 1
    file = write(tmp_path / "f", *[line(1, rate="0")] * bad)
    reading, pipe = os.pipe()
    os.close(reading)
    with open(pipe, "wb") as broken, Path("/dev/full").open("wb") as full:  # noqa: PTH123 - a descriptor
        for name, stream in (("pipe", broken), ("full", full)):
            process = manage("import_conversions", str(file), "--rejects", str(tmp_path / name), stderr=stream.fileno())
            output, _ = process.communicate()
            assert (process.returncode, output.decode()) == (1, f"0 imported, 0 unchanged, {bad} rejected.\n"), name
            assert (tmp_path / name).read_bytes().count(management.REASON) == bad, name
    closed = forked.run("import_conversions", str(file), "--rejects", str(tmp_path / "closed"), closed=[2])
    assert closed == (1, f"0 imported, 0 unchanged, {bad} rejected.\n", "")
    assert (tmp_path / "closed").read_bytes() == (tmp_path / "pipe").read_bytes()


def test_a_dry_run_rolls_each_batch_back(
    tmp_path: Path, line: Line, committed_partner: Partner, monkeypatch: pytest.MonkeyPatch
) -> None:
    in_batches(monkeypatch, 2)
    assert Result(write(tmp_path / "f", *[line(1)] * 4), "--dry-run").counts == (2, 2, 0)
    assert stored(committed_partner) == set()


def test_a_dry_run_prints_that_nothing_was_written(tmp_path: Path, line: Line) -> None:
    out = io.StringIO()
    call_command("import_conversions", str(write(tmp_path / "f", line(1))), "--dry-run", stdout=out)
    assert out.getvalue() == "Dry run, nothing was written: 1 imported, 0 unchanged, 0 rejected.\n"


def test_the_audit_log_has_who_imported_what(tmp_path: Path, line: Line) -> None:
    file = write(tmp_path / "conversions.ndjson", line(1), line(1), line(2, rate="0"), line(3, externalId="stranger"))
    Result(file)
    ended, begun = AuditEntry.objects.filter(object="import_conversions").order_by("-id")[:2]
    assert (begun.action, ended.action) == (AuditEntry.COMMAND_RUN, IMPORT_ENDED)
    assert ended.actor == begun.actor != ""
    assert last_counts() == {"file": "conversions.ndjson", "imported": 1, "unchanged": 1, "rejected": 2}


def test_several_imports_of_overlapping_files_in_any_order_give_each_line_once(
    tmp_path: Path, line: Line, committed_partner: Partner, forked: Forks
) -> None:
    count = import_conversions.Command.batch_lines + 500
    lines = [line(n) for n in range(count + 500)]
    files = [write(tmp_path / "a", *lines[:count]), write(tmp_path / "b", *lines[:499:-1])]
    files.append(write(tmp_path / "c", *lines[:count]))
    ended = forked.at_once(*({"arguments": ["import_conversions", str(file), "--json"]} for file in files))
    assert [one.status for one in ended] == [0, 0, 0], ended
    counts = [json.loads(one.output) for one in ended]
    assert sum(each["imported"] for each in counts) == len(lines)
    assert sum(each["unchanged"] for each in counts) == 3 * count - len(lines)
    assert Conversion.objects.filter(partner=committed_partner).count() == len(lines)


def read_terminal(descriptor: int) -> str:
    written = b""
    with suppress(OSError):  # how a terminal ends
        while part := os.read(descriptor, 4096):
            written += part
    return written.decode()


def test_a_terminal_shows_a_bar_of_the_bytes_read(
    line: Line, tmp_path: Path, committed_partner: Partner, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = write(tmp_path / "file", *(line(number) for number in range(1, 301)))
    ours, theirs = pty.openpty()
    termios.tcsetwinsize(theirs, (24, 120))
    with ThreadPoolExecutor(1) as pool:
        reading = pool.submit(read_terminal, ours)
        with open(theirs, "w", encoding="utf-8") as terminal:  # noqa: PTH123 - a descriptor
            monkeypatch.setattr("sys.stderr", terminal)
            assert Result(file).counts == (300, 0, 0)
        shown = reading.result()
    os.close(ours)
    assert "100%" in shown
    assert "line 300]" in shown
    assert "\x1b[31" not in shown
