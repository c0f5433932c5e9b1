"""Imports that are stopped, fail or are dry runs: the counts are right, and another run completes them."""

import io
import json
import os
import pty
import signal
import termios
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.db import IntegrityError, OperationalError, connection, transaction
from django.db.models.functions import Now
from django.db.utils import ProgrammingError

from partners.db import statements
from partners.models import Partner
from tests.support.watched import wait_until
from tests.transactions.imports.running import (
    Line,
    Result,
    end_waiting_session,
    held_up,
    last_run,
    manage,
    ndjson,
    stored,
    write,
)
from transactions.imports import importer as importing
from transactions.imports import staging
from transactions.imports.importer import Importer
from transactions.imports.staging import Batch, Stored
from transactions.management.commands import import_conversions
from transactions.models import Conversion, ImportRun, RunState


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_a_signal_ends_an_import_with_its_counts(
    line: Line, committed_partner: Partner, number: signal.Signals, status: int
) -> None:
    with manage("import_conversions", "-", "--json") as process:
        assert process.stdin
        assert process.stdout
        assert process.stderr
        process.stdin.write(ndjson(*(line(n) for n in range(10)), line(10, rate="0")) + b'{"partner": ')
        process.stdin.flush()
        # What came is stored although more may come.
        wait_until(lambda: len(stored(committed_partner)) == 10)
        process.send_signal(number)
        assert json.loads(process.stdout.read()) == {"imported": 10, "unchanged": 0, "rejected": 1}
        rejected, ended = process.stderr.read().decode().splitlines()
        assert process.wait() == status
    assert rejected.startswith("line 11: ")
    assert ended == (
        f"CommandError: Stopped by {number.name}. The last line processed is 11."
        " Run it again: lines imported already are unchanged."
    )
    assert (last_run().state, last_run().source, last_run().rejected) == ("stopped", "standard input", 1)


def test_an_import_outlives_lost_connections_and_counts_each_line_once(
    tmp_path: Path, line: Line, committed_partner: Partner, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importing, "BATCH", 10)
    monkeypatch.setattr(staging, "RETRY_PAUSES", (0.01,) * len(staging.RETRY_PAUSES))
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
    assert (last_run().state, last_run().imported, last_run().line) == ("complete", 15, 15)


def lose_the_connection(*_: Any) -> None:
    connection.close()
    raise OperationalError("gone")


def test_a_commit_whose_answer_was_lost_is_counted_as_what_it_was(
    tmp_path: Path, line: Line, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, losses = staging.Database._store, iter([lose_the_connection])

    def commit_and_lose(database: staging.Database, batch: Batch) -> Stored:
        known = database._imported
        done = store(database, batch)
        for lose in losses:
            # Committed, and the process does not know.
            database._imported = known
            lose()
        return done

    monkeypatch.setattr(staging, "RETRY_PAUSES", (0.01,))
    monkeypatch.setattr(staging.Database, "_store", commit_and_lose)
    importer = Importer(staging.Database(run=ImportRun.objects.create(source="f", size_bytes=None).pk))
    lines = [json.dumps(line(n)).encode() for n in range(3)]
    assert not list(importer.run(enumerate(lines, 1)))
    assert (importer.counts.imported, importer.counts.unchanged) == (3, 0)


def test_an_unreachable_database_ends_the_import_with_its_counts(
    tmp_path: Path, line: Line, committed_partner: Partner, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importing, "BATCH", 2)
    monkeypatch.setattr(staging, "RETRY_PAUSES", (0.01, 0.01))
    stage, stages = staging._stage, iter([staging._stage])

    def stage_once(batch: Batch) -> None:
        next(stages, lose_the_connection)(batch)

    monkeypatch.setattr(staging, "_stage", stage_once)
    file = write(tmp_path / "f", *(line(n) for n in range(7)))
    result = Result(file)
    assert (result.counts, result.status) == ((2, 0, 0), 1)
    assert result.reason == (
        "The database cannot be reached, or did not respond in time. The last line processed is 2."
        " Run it again: lines imported already are unchanged."
    )
    assert (last_run().state, last_run().imported) == ("failed", 2)
    monkeypatch.setattr(staging, "_stage", stage)
    assert Result(file).counts == (5, 2, 0)


def test_a_dry_run_reports_what_an_import_will_report_and_writes_nothing(
    tmp_path: Path, line: Line, committed_partner: Partner, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importing, "BATCH", 3)
    Result(write(tmp_path / "known", *(line(n) for n in range(4))))
    lines = [line(n) for n in range(2, 9)]
    again = [line(8), line(5), line(5, rate="9"), line(3, rate="9"), line(20, externalId="stranger"), b"{"]
    file = write(tmp_path / "f", *lines, *again, line(9), line(9), line(10), line(2))
    before = stored(committed_partner), ImportRun.objects.count()
    rehearsed = Result(file, "--dry-run", "--rejects", str(tmp_path / "rehearsed"))
    assert (stored(committed_partner), ImportRun.objects.count()) == before
    done = Result(file, "--rejects", str(tmp_path / "rejects"))
    assert (rehearsed.counts, rehearsed.status, rehearsed.errors) == (done.counts, done.status, done.errors)
    assert done.counts == (7, 6, 4)
    assert (tmp_path / "rehearsed").read_bytes() == (tmp_path / "rejects").read_bytes()


def test_a_dry_run_prints_that_nothing_was_written(tmp_path: Path, line: Line) -> None:
    out = io.StringIO()
    call_command("import_conversions", str(write(tmp_path / "f", line(1))), "--dry-run", stdout=out)
    assert out.getvalue() == "Dry run, nothing was written: 1 imported, 0 unchanged, 0 rejected.\n"


def test_a_run_is_recorded_and_listed(tmp_path: Path, line: Line) -> None:
    file = write(tmp_path / "conversions.ndjson", line(1), line(1), line(2, rate="0"), line(3, externalId="stranger"))
    Result(file)
    out = io.StringIO()
    call_command("list_imports", "--limit", "1", "--json", stdout=out)
    (shown,) = json.loads(out.getvalue())["imports"]
    assert shown.pop("id") == last_run().pk
    assert shown.pop("startedAt") <= shown.pop("updatedAt") == shown.pop("endedAt")
    assert shown == {
        "kind": "conversions",
        "source": "conversions.ndjson",
        "state": "complete",
        "sizeBytes": file.stat().st_size,
        "bytesRead": file.stat().st_size,
        "line": 4,
        "imported": 1,
        "unchanged": 1,
        "rejected": 2,
    }


def test_lines_that_are_no_json_are_processed_lines(tmp_path: Path, line: Line) -> None:
    for content, last in ((b"x\n" * 3, 3), (ndjson(line(1)) + b"x\n", 2)):
        file = tmp_path / "f"
        file.write_bytes(content)
        Result(file)
        assert last_run().line == last


def test_a_run_that_has_ended_cannot_be_changed(tmp_path: Path, line: Line) -> None:
    run = ImportRun.objects.create(source="f", size_bytes=None).pk
    ImportRun.objects.filter(pk=run).update(imported=1)
    ImportRun.objects.filter(pk=run).update(state=RunState.COMPLETE, ended_at=Now())
    with pytest.raises(IntegrityError, match="has ended cannot be changed"):
        ImportRun.objects.filter(pk=run).update(imported=2)
    for statement in ("DELETE FROM transactions_importrun", "UPDATE transactions_importrun SET source = 'x'"):
        with pytest.raises(ProgrammingError, match="permission denied"), transaction.atomic():
            connection.cursor().execute(statement)


def test_several_imports_of_overlapping_files_in_any_order_give_each_line_once(
    tmp_path: Path, line: Line, committed_partner: Partner
) -> None:
    count = importing.BATCH + 500
    lines = [line(n) for n in range(count + 500)]
    files = [write(tmp_path / "a", *lines[:count]), write(tmp_path / "b", *lines[:499:-1])]
    files.append(write(tmp_path / "c", *lines[:count]))
    processes = [manage("import_conversions", str(file), "--json") for file in files]
    with ThreadPoolExecutor(3) as pool:
        outputs = list(pool.map(lambda p: p.communicate(), processes))
    assert [p.returncode for p in processes] == [0, 0, 0], outputs
    counts = [json.loads(out) for out, _ in outputs]
    assert sum(each["imported"] for each in counts) == len(lines)
    assert sum(each["unchanged"] for each in counts) == 3 * count - len(lines)
    assert Conversion.objects.filter(partner=committed_partner).count() == len(lines)
    assert sum(ImportRun.objects.order_by("-id")[:3].values_list("imported", flat=True)) == len(lines)


def refuse_a_statement(*_: Any) -> None:
    statements.fetch_one("SELECT 1 / %s", (0,))


def lose_the_server(*_: Any) -> None:
    statements.fetch_one("SELECT pg_terminate_backend(pg_backend_pid())", ())


@pytest.mark.parametrize(
    ("failure", "reason"),
    [
        (refuse_a_statement, "The database refused a statement (SQLSTATE 22012). The last line processed is 2."),
        (lose_the_server, "The database cannot be reached, or did not respond in time. The last line processed is 2."),
    ],
)
def test_a_run_that_the_database_ends_has_failed(
    tmp_path: Path,
    line: Line,
    committed_partner: Partner,
    monkeypatch: pytest.MonkeyPatch,
    failure: Callable[..., None],
    reason: str,
) -> None:
    monkeypatch.setattr(importing, "BATCH", 2)
    monkeypatch.setattr(staging, "RETRY_PAUSES", ())
    stages = iter([staging._stage])

    def stage_once(batch: Batch) -> None:
        next(stages, failure)(batch)

    monkeypatch.setattr(staging, "_stage", stage_once)
    result = Result(write(tmp_path / "f", *(line(n) for n in range(5))))
    assert (result.counts, result.status) == ((2, 0, 0), 1)
    assert result.reason.startswith(reason)
    assert (last_run().state, last_run().imported) == ("failed", 2)


def test_a_crash_records_a_failed_run_with_the_stored_counts(
    tmp_path: Path, line: Line, committed_partner: Partner, monkeypatch: pytest.MonkeyPatch
) -> None:
    def crash(*_: Any) -> None:
        raise RuntimeError("a crash")

    monkeypatch.setattr(importing, "BATCH", 2)
    monkeypatch.setattr(import_conversions.Command, "_report", crash)
    file = write(tmp_path / "f", *(line(n) for n in range(5)), line(9, rate="0"))
    with pytest.raises(RuntimeError, match="a crash"):
        Result(file)
    assert last_run().state == "failed"
    assert last_run().ended_at is not None
    assert last_run().imported == len(stored(committed_partner)) > 0


def on_a_terminal(*arguments: str) -> str:
    """What `manage.py` writes to standard error on a terminal."""
    ours, theirs = pty.openpty()
    termios.tcsetwinsize(theirs, (24, 120))
    with manage(*arguments, stderr=theirs):
        os.close(theirs)
        written = b""
        with suppress(OSError):  # how a terminal ends
            while part := os.read(ours, 4096):
                written += part
    os.close(ours)
    return written.decode()


def test_a_terminal_shows_a_bar_of_the_bytes_read(line: Line, tmp_path: Path) -> None:
    file = write(tmp_path / "file", *(line(number) for number in range(1, 301)))
    shown = on_a_terminal("import_conversions", str(file))
    assert "100%" in shown
    assert "line 300]" in shown
    assert "\x1b[31" not in shown
