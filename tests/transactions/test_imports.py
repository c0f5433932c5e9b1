"""Conversions in: every line is imported, unchanged or rejected, and none is lost or doubled."""

import io
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.core.management import CommandError, call_command
from django.db import transaction

from partners import roles
from partners.models import Partner
from tests import factories
from tests.client import in_process
from tests.conftest import database_url
from transactions import imports
from transactions.models import Conversion

Line = Callable[..., dict[str, Any]]


@pytest.fixture
def line(committed_partner: Partner) -> Line:
    """Makes lines for the partner's user; keyword arguments replace fields."""
    client = factories.client_of(committed_partner, in_process)
    assert client.post("/v1/users", factories.user_body(externalId="payer")).status == 201

    def make(number: int = 1, **fields: Any) -> dict[str, Any]:
        return {
            "partner": committed_partner.slug,
            "externalId": "payer",
            "conversionId": f"cv-{number}",
            "createdAt": (datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=number)).isoformat(),
            "type": "conversion",
            "from": {"currency": "CAD", "amount": "100.00"},
            "to": {"currency": "USD", "amount": "71.500"},
            "rate": "0.715",
        } | fields

    return make


class Result:
    """What the command printed, and how it ended."""

    def __init__(self, file: Path, *options: str) -> None:
        out, err = io.StringIO(), io.StringIO()
        self.status: Any = 0
        try:
            call_command("import_conversions", str(file), "--json", *options, stdout=out, stderr=err)
        except SystemExit as ended:
            self.status = ended.code
        self.counts = tuple(json.loads(out.getvalue()).values())
        self.errors = err.getvalue().splitlines()


def write(path: Path, *lines: Any) -> Path:
    path.write_bytes(b"".join((x if isinstance(x, bytes) else json.dumps(x).encode()) + b"\n" for x in lines))
    return path


def stored(partner: Partner) -> set[str]:
    return set(Conversion.objects.filter(partner=partner).values_list("conversion_id", flat=True))


def test_lines_are_imported_and_listed_with_their_digits(
    tmp_path: Path, line: Line, committed_partner: Partner
) -> None:
    assert Result(write(tmp_path / "f", line(1), line(2))).counts == (2, 0, 0)
    items = factories.client_of(committed_partner, in_process).get("/v1/users/payer/transactions").json()["items"]
    assert [item["conversionId"] for item in items] == ["cv-2", "cv-1"]
    assert items[0]["to"] == {"currency": "USD", "amount": "71.500"}
    assert items[0]["createdAt"] == "2026-01-01T00:00:02.000000Z"


def test_the_same_file_again_is_counted_and_skipped(tmp_path: Path, line: Line) -> None:
    file = write(tmp_path / "f", *(line(n) for n in range(10)))
    assert Result(file).counts == (10, 0, 0)
    again = Result(file)
    assert (again.counts, again.status, again.errors) == ((0, 10, 0), 0, [])


def test_the_same_instant_written_otherwise_is_unchanged(tmp_path: Path, line: Line) -> None:
    Result(write(tmp_path / "f", line(createdAt="2026-01-01T00:00:00.5Z")))
    assert Result(write(tmp_path / "f", line(createdAt="2025-12-31T19:00:00.500000-05:00"))).counts == (0, 1, 0)


@pytest.mark.parametrize(
    "change",
    [
        {"createdAt": "2026-01-01T00:00:01.000001Z"},
        {"from": {"currency": "EUR", "amount": "100.00"}},
        {"from": {"currency": "CAD", "amount": "100.0"}},
        {"to": {"currency": "USD", "amount": "71.5"}},
        {"rate": "0.7150"},
        {"externalId": "other"},
    ],
    ids=str,
)
def test_other_content_under_a_known_conversion_id_is_rejected(
    tmp_path: Path, line: Line, committed_partner: Partner, change: dict[str, Any]
) -> None:
    factories.client_of(committed_partner, in_process).post("/v1/users", factories.user_body(externalId="other"))
    Result(write(tmp_path / "f", line(1)))
    result = Result(write(tmp_path / "f", line(1, **change), line(2)))
    assert (result.counts, result.status) == ((1, 0, 1), 1)
    assert result.errors == [f"line 1: {imports.OTHER_CONTENT}"]


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        (b"{", "not a JSON object"),
        (b"[]", "not a JSON object"),
        (b"null", "not a JSON object"),
        (b"\xff{}", "not a JSON object"),
        (b"[" * 60_000, "not a JSON object"),
        (b'"' + b"x" * 200_000 + b'"', "longer than 65536 bytes"),
        ({"type": "transfer"}, "type is not one of"),
        ({"type": None}, "type must be a string"),
        ({"partner": "nobody-here"}, "there is no such partner"),
        ({"partner": "a\x00b"}, "partner must be"),
        ({"externalId": "stranger"}, imports.UNKNOWN_USER),
        ({"externalId": "a\x00b"}, "externalId: "),
        ({"externalId": "\ud800"}, "not a JSON object"),
        ({"externalId": 7}, "externalId: "),
        ({"conversionId": "a b"}, "conversionId must be"),
        ({"conversionId": "x" * 65}, "conversionId must be"),
        ({"conversionId": ""}, "conversionId must be"),
        ({"createdAt": "2026-01-01"}, "createdAt must be"),
        ({"createdAt": "2026-01-01T00:00:00"}, "createdAt must be"),
        ({"createdAt": "2026-02-30T00:00:00Z"}, "createdAt must be"),
        ({"createdAt": "2026-01-01T00:00:00.1234567Z"}, "finer than microseconds"),
        ({"from": {"currency": "CAD", "amount": 1}}, "from.amount must be"),
        ({"from": {"currency": "CAD", "amount": "-1"}}, "from.amount must be"),
        ({"from": {"currency": "CAD", "amount": "1e2"}}, "from.amount must be"),
        ({"from": {"currency": "CAD", "amount": "01"}}, "from.amount must be"),
        ({"from": {"currency": "CAD", "amount": ".5"}}, "from.amount must be"),
        ({"from": {"currency": "CAD", "amount": "5."}}, "from.amount must be"),
        ({"from": {"currency": "CAD", "amount": "1" * 21}}, "from.amount must be"),
        ({"from": {"currency": "CAD", "amount": "0." + "1" * 19}}, "from.amount must be"),
        ({"from": {"currency": "CAD", "amount": "٣"}}, "from.amount must be"),
        ({"from": {"currency": "cad", "amount": "1"}}, "from.currency must be"),
        ({"from": {"currency": "CA", "amount": "1"}}, "from.currency must be"),
        ({"from": {"currency": "CAD"}}, "from must be an object"),
        ({"from": {"currency": "CAD", "amount": "1", "more": "1"}}, "from must be an object"),
        ({"to": None}, "to must be an object"),
        ({"rate": "0"}, "rate must be more than zero"),
        ({"rate": "0.000"}, "rate must be more than zero"),
        ({"rate": "NaN"}, "rate must be"),
        ({"more": "1"}, "1 unknown names"),
    ],
    ids=lambda value: repr(value)[:40],
)
def test_a_bad_line_is_rejected_and_the_others_are_not(
    tmp_path: Path, line: Line, committed_partner: Partner, bad: Any, reason: str
) -> None:
    bad_line = bad if isinstance(bad, bytes) else line(2, **bad)
    result = Result(write(tmp_path / "f", line(1), bad_line, line(3)))
    assert (result.counts, result.status) == ((2, 0, 1), 1)
    assert len(result.errors) == 1
    assert result.errors[0].startswith("line 2: ")
    assert reason in result.errors[0]
    assert stored(committed_partner) == {"cv-1", "cv-3"}


def test_a_missing_field_is_named(tmp_path: Path, line: Line) -> None:
    short = line(1)
    del short["rate"]
    assert Result(write(tmp_path / "f", short)).errors == ["line 1: rate is missing"]


def test_a_name_given_twice_is_rejected(tmp_path: Path, line: Line) -> None:
    twice = json.dumps(line(1)).encode().replace(b'"rate": "0.715"', b'"rate": "0.715", "rate": "9"')
    inside = json.dumps(line(2)).encode().replace(b'"CAD",', b'"CAD", "currency": "USD",')
    assert Result(write(tmp_path / "f", twice, inside)).counts == (0, 0, 2)


def test_a_line_within_the_file_meets_one_before_it(tmp_path: Path, line: Line) -> None:
    result = Result(write(tmp_path / "f", line(1), line(1), line(1, rate="9"), line(2)))
    assert (result.counts, result.errors) == ((2, 1, 1), [f"line 3: {imports.OTHER_CONTENT}"])


def test_an_external_id_with_a_backslash_is_found(tmp_path: Path, line: Line, committed_partner: Partner) -> None:
    odd = "a\\tb\\\\ é"
    factories.client_of(committed_partner, in_process).post("/v1/users", factories.user_body(externalId=odd))
    assert Result(write(tmp_path / "f", line(1, externalId=odd))).counts == (1, 0, 0)


def test_rejected_lines_are_kept_as_they_were_and_can_be_mended(tmp_path: Path, line: Line) -> None:
    rejects = tmp_path / "rejects"
    Result(write(tmp_path / "f", line(1), line(2, rate="0"), b"garbage"), "--rejects", str(rejects))
    assert rejects.read_bytes() == json.dumps(line(2, rate="0")).encode() + b"\ngarbage\n"


def test_blank_lines_and_a_missing_last_line_end_are_no_matter(tmp_path: Path, line: Line) -> None:
    (tmp_path / "f").write_bytes(b"\n" + json.dumps(line(1)).encode() + b"\r\n\n" + json.dumps(line(2)).encode())
    assert Result(tmp_path / "f").counts == (2, 0, 0)


def test_batches_before_a_failure_stay(
    tmp_path: Path, line: Line, committed_partner: Partner, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(imports, "BATCH", 2)
    file = write(tmp_path / "f", *(line(n) for n in range(5)))
    importer = imports.Importer()
    lines = ((n, text) for n, text in enumerate(file.read_bytes().splitlines(), 1))
    monkeypatch.setattr(imports, "_store", _failing_after(imports._store, 1))
    with pytest.raises(RuntimeError):
        list(importer.run(lines))
    assert stored(committed_partner) == {"cv-0", "cv-1"}
    monkeypatch.undo()
    assert Result(file).counts == (3, 2, 0)


def _failing_after(store: Callable[..., Any], batches: int) -> Callable[..., Any]:
    calls: list[int] = []

    def failing(batch: Any) -> Any:
        calls.append(1)
        with transaction.atomic():
            result = store(batch)
            if len(calls) > batches:
                raise RuntimeError("cut")
        return result

    return failing


def manage(*arguments: str) -> subprocess.Popen[bytes]:
    """`manage.py` in a process of its own, on the test database."""
    environment = os.environ | {
        "DJANGO_SETTINGS_MODULE": "config.settings",
        "DATABASE_URL": database_url(roles.SERVING),
    }
    return subprocess.Popen(
        [sys.executable, "manage.py", *arguments],
        cwd=settings.BASE_DIR,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def test_a_killed_import_is_simply_run_again(tmp_path: Path, line: Line, committed_partner: Partner) -> None:
    file = write(tmp_path / "f", *(line(n) for n in range(40_000)))
    process = manage("import_conversions", str(file))
    deadline = time.monotonic() + 60
    while not stored(committed_partner) and time.monotonic() < deadline:
        time.sleep(0.01)
    process.kill()
    process.communicate()
    before = len(stored(committed_partner))
    assert 0 < before < 40_000
    assert Result(file).counts == (40_000 - before, before, 0)


def test_two_imports_of_overlapping_files_at_once_give_each_conversion_once(
    tmp_path: Path, line: Line, committed_partner: Partner
) -> None:
    first = write(tmp_path / "a", *(line(n) for n in range(15_000)))
    second = write(tmp_path / "b", *(line(n) for n in reversed(range(5_000, 20_000))))
    processes = [manage("import_conversions", str(file), "--json") for file in (first, second)]
    with ThreadPoolExecutor(2) as pool:
        outputs = list(pool.map(lambda p: p.communicate(), processes))
    assert [p.returncode for p in processes] == [0, 0], outputs
    counts = [json.loads(out) for out, _ in outputs]
    assert sum(c["imported"] for c in counts) == 20_000
    assert sum(c["unchanged"] for c in counts) == 10_000
    assert len(stored(committed_partner)) == 20_000


def test_standard_input_is_read(line: Line, committed_partner: Partner) -> None:
    process = subprocess.run(
        [sys.executable, "manage.py", "import_conversions", "-", "--json"],
        cwd=settings.BASE_DIR,
        env=os.environ | {"DJANGO_SETTINGS_MODULE": "config.settings", "DATABASE_URL": database_url(roles.SERVING)},
        input=json.dumps(line(1)).encode(),
        capture_output=True,
        check=True,
    )
    assert json.loads(process.stdout) == {"imported": 1, "unchanged": 0, "rejected": 0}


@pytest.mark.parametrize("arguments", [["/nowhere/f"], ["{file}", "--rejects", "/nowhere/f"], ["."]])
def test_a_file_that_cannot_be_used_is_one_line(tmp_path: Path, line: Line, arguments: list[str]) -> None:
    file = write(tmp_path / "f", line(1))
    with pytest.raises(CommandError, match=r"^[^\n]+$"):
        call_command("import_conversions", *(a.format(file=file) for a in arguments))


def test_repeated_lines_share_the_fate_of_the_first(tmp_path: Path, line: Line) -> None:
    stranger = line(3, externalId="stranger")
    result = Result(write(tmp_path / "f", *[line(1)] * 300, stranger, stranger))
    assert (result.counts, len(result.errors)) == ((1, 299, 2), 2)


def test_the_rejects_may_not_go_into_the_file_that_is_imported(tmp_path: Path, line: Line) -> None:
    file = write(tmp_path / "f", line(1))
    before = file.read_bytes()
    with pytest.raises(CommandError, match="names the file that is imported"):
        call_command("import_conversions", str(file), "--rejects", str(tmp_path / "." / "f"))
    assert file.read_bytes() == before


def test_rejects_that_cannot_be_written_are_one_line(tmp_path: Path, line: Line) -> None:
    with pytest.raises(CommandError, match=r"^[^\n]+$"):
        call_command("import_conversions", str(write(tmp_path / "f", line(1, rate="0"))), "--rejects", "/dev/full")
