"""Imports: every line is imported, unchanged or rejected, none is lost or doubled."""

import io
import json
import stat
import tracemalloc
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from partners.api.errors import NAME_LENGTH_IN_ERRORS
from partners.models import Partner
from tests import factories
from tests.support.client import in_process
from tests.transactions.imports.running import Line, Result, in_batches, last_counts, ndjson, stored, write
from transactions import imports, management
from transactions.management.commands import import_conversions
from transactions.models import Conversion
from users.models import Status, User


def test_lines_are_imported_and_listed_with_their_digits(
    tmp_path: Path, line: Line, committed_partner: Partner
) -> None:
    assert Result(write(tmp_path / "f", line(1), line(2))).counts == (2, 0, 0)
    items = factories.client_of(committed_partner, in_process).get("/v1/users/payer/transactions").json()["items"]
    assert [item["conversionId"] for item in items] == ["cv-2", "cv-1"]
    assert items[0]["to"] == {"currency": "USD", "amount": "71.500"}
    assert items[0]["createdAt"] == "2026-01-01T00:00:02.000000Z"


def test_a_conversion_says_whether_its_user_was_active_when_it_was_recorded(
    tmp_path: Path, line: Line, committed_partner: Partner
) -> None:
    user = User.objects.get(partner=committed_partner, external_id="payer")
    assert user.status == Status.PENDING_COMPLIANCE
    assert Result(write(tmp_path / "f", line(1))).counts == (1, 0, 0)
    factories.decide(user, Status.ACTIVE)
    # The first line is unchanged: what is recorded stays as it was.
    assert Result(write(tmp_path / "f", line(1), line(2))).counts == (1, 1, 0)
    recorded = Conversion.objects.filter(user=user).values_list("conversion_id", "while_inactive")
    assert set(recorded) == {("cv-1", True), ("cv-2", False)}


def test_the_same_file_again_is_counted_and_skipped(tmp_path: Path, line: Line) -> None:
    file = write(tmp_path / "f", *(line(n) for n in range(10)))
    assert Result(file).counts == (10, 0, 0)
    again = Result(file)
    assert (again.counts, again.status, again.errors) == ((0, 10, 0), 0, [])


def test_the_same_time_with_another_offset_is_unchanged(tmp_path: Path, line: Line) -> None:
    Result(write(tmp_path / "f", line(createdAt="2026-01-01T00:00:00.5Z")))
    assert Result(write(tmp_path / "f", line(createdAt="2025-12-31T19:00:00.500000-05:00"))).counts == (0, 1, 0)


CHANGES: list[dict[str, Any]] = [
    {"createdAt": "2026-01-01T00:00:01.000001Z"},
    {"from": {"currency": "EUR", "amount": "100.00"}},
    {"from": {"currency": "CAD", "amount": "100.0"}},
    {"to": {"currency": "USD", "amount": "71.5"}},
    {"rate": "0.7150"},
    {"externalId": "other"},
]


def test_other_content_under_a_known_conversion_id_is_rejected(
    tmp_path: Path, line: Line, committed_partner: Partner
) -> None:
    factories.client_of(committed_partner, in_process).post("/v1/users", factories.user_body(externalId="other"))
    Result(write(tmp_path / "f", line(1)))
    result = Result(write(tmp_path / "f", *(line(1, **change) for change in CHANGES), line(2)))
    assert (result.counts, result.status) == ((1, 0, len(CHANGES)), 1)
    assert result.errors == [f"line {number}: {imports.OTHER_CONTENT}" for number in range(1, len(CHANGES) + 1)]


BAD: list[tuple[Any, str]] = [
    (b"{", "not a JSON object"),
    (b"[]", "not a JSON object"),
    (b"null", "not a JSON object"),
    (b"\xff{}", "not a JSON object"),
    (b"[" * 60_000, "not a JSON object in UTF-8"),
    (b'{"rate": NaN}', "not a JSON object in UTF-8"),
    (b'"' + b"x" * 200_000 + b'"', "longer than 65536 bytes"),
    (b" " * 65_536 + b"{", "longer than 65536 bytes"),
    (b'{"partner": "a\x00b"}', "not a JSON object"),
    (b"\xef\xbb\xbf{}", "not a JSON object"),
    ({"type": "transfer"}, "type: Must be conversion"),
    ({"type": None}, "type: Must be conversion"),
    ({"partner": "nobody-here"}, imports.UNKNOWN_PARTNER),
    ({"partner": "a\x00b"}, "partner: Must be"),
    ({"externalId": "stranger"}, imports.UNKNOWN_USER),
    ({"externalId": "a\x00b"}, "externalId: "),
    ({"externalId": "\ud800"}, "externalId: Must not contain"),
    ({"externalId": 7}, "externalId: "),
    ({"externalId": "\u3164"}, "externalId: Must have a visible character"),
    ({"conversionId": "a b"}, "conversionId: Must be"),
    ({"conversionId": "x" * 65}, "conversionId: Must be"),
    ({"conversionId": ""}, "conversionId: Must be"),
    ({"createdAt": "2026-01-01"}, "createdAt: Must be"),
    ({"createdAt": 5}, "createdAt: Must be a string"),
    ({"createdAt": "2026-01-01T00:00:00"}, "createdAt: Must be"),
    ({"createdAt": "2026-02-30T00:00:00Z"}, "createdAt: Must be"),
    ({"createdAt": "2026-01-01T00:00:00.1234567Z"}, "finer than microseconds"),
    ({"createdAt": "2026-01-01T24:00:00Z"}, "createdAt: Must be"),
    ({"createdAt": "0001-01-01T23:59:59Z"}, "createdAt: Must not be before 0001-01-02T00:00:00Z"),
    ({"createdAt": "9999-12-31T00:00:00Z"}, "createdAt: Must not be more than five minutes ahead"),
    ({"from": {"currency": "CAD", "amount": 1}}, "from.amount: Must be"),
    ({"from": {"currency": "CAD", "amount": "-1"}}, "from.amount: Must be"),
    ({"from": {"currency": "CAD", "amount": "1e2"}}, "from.amount: Must be"),
    ({"from": {"currency": "CAD", "amount": "01"}}, "from.amount: Must be"),
    ({"from": {"currency": "CAD", "amount": ".5"}}, "from.amount: Must be"),
    ({"from": {"currency": "CAD", "amount": "5."}}, "from.amount: Must be"),
    ({"from": {"currency": "CAD", "amount": "1" * 21}}, "from.amount: Must be"),
    ({"from": {"currency": "CAD", "amount": "0." + "1" * 19}}, "from.amount: Must be"),
    ({"from": {"currency": "CAD", "amount": "٣"}}, "from.amount: Must be"),
    ({"from": {"currency": "cad", "amount": "1"}}, "from.currency: Must be"),
    ({"from": {"currency": "CA", "amount": "1"}}, "from.currency: Must be"),
    ({"from": {"currency": "CAD"}}, "from.amount: This field is required."),
    ({"from": {"currency": "CAD", "amount": "1", "more": "1"}}, 'from."more": unknown name'),
    ({"from": "CAD"}, "from: Must be an object"),
    ({"to": None}, "to: Must be an object"),
    ({"rate": "0"}, "rate: Must be more than zero"),
    ({"rate": "0.000"}, "rate: Must be more than zero"),
    ({"rate": "NaN"}, "rate: Must be"),
    ({"more": "1"}, '"more": unknown name'),
    ({"\n\x1b[31m": "2"}, r'"\n\u001b[31m": unknown name'),
    ({"n" * 1000: "1"}, f'"{"n" * NAME_LENGTH_IN_ERRORS}": unknown name'),
]


def test_bad_lines_are_rejected_and_the_others_are_not(tmp_path: Path, line: Line, committed_partner: Partner) -> None:
    lines: list[Any] = [line(0)]
    for number, (bad, _reason) in enumerate(BAD, 1):
        lines += [bad if isinstance(bad, bytes) else line(1000, **bad), line(number)]
    result = Result(write(tmp_path / "f", *lines))
    assert (result.counts, result.status) == ((len(BAD) + 1, 0, len(BAD)), 1)
    for number, ((bad, reason), error) in enumerate(zip(BAD, result.errors, strict=True), 1):
        assert error.startswith(f"line {2 * number}: "), bad
        assert reason in error, bad
    assert stored(committed_partner) == {f"cv-{number}" for number in range(len(BAD) + 1)}


def test_a_missing_field_is_named(tmp_path: Path, line: Line) -> None:
    short = line(1)
    del short["rate"]
    assert Result(write(tmp_path / "f", short)).errors == ["line 1: rate: This field is required."]


def test_a_repeated_name_is_rejected(tmp_path: Path, line: Line) -> None:
    twice = json.dumps(line(1)).encode().replace(b'"rate": "0.715"', b'"rate": "0.715", "rate": "9"')
    inside = json.dumps(line(2)).encode().replace(b'"CAD",', b'"CAD", "currency": "USD",')
    result = Result(write(tmp_path / "f", twice, inside))
    assert result.counts == (0, 0, 2)
    assert result.errors == ['line 1: "rate": repeated name', 'line 2: from."currency": repeated name']


@pytest.mark.parametrize("batch", [2, 3, 5000])
def test_rejected_lines_are_reported_in_their_order(
    tmp_path: Path, line: Line, monkeypatch: pytest.MonkeyPatch, batch: int
) -> None:
    in_batches(monkeypatch, batch)
    bad: list[Any] = [line(1, externalId="stranger"), b"garbage", line(2), line(2, rate="9"), b"{}", line(3), b"[]"]
    bad += [b"garbage"] * 5 + [line(4, partner="nobody-here"), line(5), b"null"]
    result = Result(write(tmp_path / "f", *bad))
    numbers = [int(error.partition(":")[0].removeprefix("line ")) for error in result.errors]
    assert numbers == [1, 2, 4, 5, 7, 8, 9, 10, 11, 12, 13, 15]
    assert result.counts == (3, 0, 12)
    assert last_counts() == {"file": "f", "imported": 3, "unchanged": 0, "rejected": 12}


def test_memory_does_not_grow_with_the_file(tmp_path: Path, line: Line, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(management, "MAX_BATCH_BYTES", 100_000)
    (tmp_path / "f").write_bytes(ndjson(line(1)) + (b"{" + b"x" * 10_000 + b"\n") * 2000 + b"{" * 20_000_000)
    tracemalloc.start()
    with (tmp_path / "errors").open("w") as errors:
        command = import_conversions.Command(stdout=io.StringIO(), stderr=errors)
        with pytest.raises(SystemExit):
            call_command(command, str(tmp_path / "f"))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert command.counts == {"imported": 1, "unchanged": 0, "rejected": 2001}
    assert peak < 3_000_000


def test_lines_of_one_file_with_the_same_conversion_id_are_compared(tmp_path: Path, line: Line) -> None:
    result = Result(write(tmp_path / "f", line(1), line(1), line(1, rate="9"), line(2)))
    assert (result.counts, result.errors) == ((2, 1, 1), [f"line 3: {imports.OTHER_CONTENT}"])


def test_an_external_id_with_a_backslash_is_found(tmp_path: Path, line: Line, committed_partner: Partner) -> None:
    odd = "a\\tb\\\\ é"
    factories.client_of(committed_partner, in_process).post("/v1/users", factories.user_body(externalId=odd))
    assert Result(write(tmp_path / "f", line(1, externalId=odd))).counts == (1, 0, 0)


def test_rejected_lines_are_written_unchanged_below_their_reasons(tmp_path: Path, line: Line) -> None:
    rejects = tmp_path / "rejects"
    stranger, zero = line(2, externalId="stranger"), line(3, rate="0")
    Result(write(tmp_path / "f", line(1), stranger, zero, b"garbage", b"x" * 100_000), "--rejects", str(rejects))
    assert rejects.read_text().splitlines() == [
        f"# Rejected, line 2: {imports.UNKNOWN_USER}",
        json.dumps(stranger),
        "# Rejected, line 3: rate: Must be more than zero.",
        json.dumps(zero),
        "# Rejected, line 4: not a JSON object in UTF-8",
        "garbage",
        "# Rejected, line 5: longer than 65536 bytes, only its beginning was read",
        "x" * 65_539,
    ]


def test_rejected_lines_are_corrected_and_imported_as_they_are(
    tmp_path: Path, line: Line, committed_partner: Partner
) -> None:
    rejects, again = tmp_path / "rejects", tmp_path / "again"
    Result(write(tmp_path / "f", line(1, rate="0"), b"garbage", line(2)), "--rejects", str(rejects))
    rejects.write_text(rejects.read_text().replace('"rate": "0"', '"rate": "0.7"'))
    result = Result(rejects, "--rejects", str(again))
    assert (result.counts, len(result.errors)) == ((1, 0, 1), 1)
    assert again.read_text() == "# Rejected, line 4: not a JSON object in UTF-8\ngarbage\n"
    assert stored(committed_partner) == {"cv-1", "cv-2"}


def test_another_comment_is_rejected_as_any_line_that_is_no_conversion(tmp_path: Path, line: Line) -> None:
    assert Result(write(tmp_path / "f", b"# " + json.dumps(line(1)).encode(), line(2))).counts == (1, 0, 1)


def test_blank_lines_and_a_missing_last_line_feed_are_accepted(tmp_path: Path, line: Line) -> None:
    (tmp_path / "f").write_bytes(b"\n" + json.dumps(line(1)).encode() + b"\r\n\n" + json.dumps(line(2)).encode())
    assert Result(tmp_path / "f").counts == (2, 0, 0)


@pytest.mark.parametrize("arguments", [["/nowhere/f"], ["{file}", "--rejects", "/nowhere/f"], ["."]])
def test_an_unusable_file_is_reported_in_one_line(tmp_path: Path, line: Line, arguments: list[str]) -> None:
    file = write(tmp_path / "f", line(1))
    with pytest.raises(CommandError, match=r"^[^\n]+$"):
        call_command("import_conversions", *(a.format(file=file) for a in arguments))


def test_repeated_lines_are_counted_as_the_first(tmp_path: Path, line: Line) -> None:
    stranger = line(3, externalId="stranger")
    result = Result(write(tmp_path / "f", *[line(1)] * 300, stranger, stranger))
    assert (result.counts, len(result.errors)) == ((1, 299, 2), 2)


def test_rejects_go_into_a_new_file_that_nobody_else_may_read(tmp_path: Path, line: Line) -> None:
    file, rejects = write(tmp_path / "f", line(1, rate="0")), tmp_path / "rejects"
    assert Result(file, "--rejects", str(rejects)).counts == (0, 0, 1)
    assert stat.S_IMODE(rejects.stat().st_mode) == 0o600
    before = rejects.read_bytes()
    for existing in (rejects, file):
        result = Result(file, "--rejects", str(existing))
        assert (result.status, result.reason) == (1, f"--rejects needs a new file: {existing}: File exists.")
    assert rejects.read_bytes() == before


def test_rejects_that_cannot_be_written_end_the_import_with_one_line(
    tmp_path: Path, line: Line, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Path("/dev/full").open("wb", buffering=0) as full:
        monkeypatch.setattr(management, "_create", lambda *_: full)
        result = Result(write(tmp_path / "f", line(1), line(2, rate="0")), "--rejects", "full")
    ended = "The last line processed is 2 (1 imported, 0 unchanged, 1 rejected)."
    assert result.status == 1
    assert result.reason.startswith(f"The rejects cannot be written: No space left on device. {ended}")


def test_a_time_more_than_five_minutes_ahead_is_rejected(tmp_path: Path, line: Line) -> None:
    now = datetime.now(UTC)
    near, far = ((now + timedelta(minutes=minutes)).isoformat() for minutes in (4, 6))
    result = Result(write(tmp_path / "f", line(1, createdAt=near), line(2, createdAt=far)))
    assert result.counts == (1, 0, 1)
    assert result.errors == ["line 2: createdAt: Must not be more than five minutes ahead."]


def test_a_line_that_contradicts_one_of_its_batch_is_compared_with_what_is_stored(tmp_path: Path, line: Line) -> None:
    # The first is refused, so that the second, of the same conversionId, is the one that counts.
    lines = [line(1, externalId="stranger"), line(1), line(1, externalId="stranger"), line(1)]
    result = Result(write(tmp_path / "f", *lines))
    assert result.counts == (1, 1, 2)
    assert result.errors == [f"line 1: {imports.UNKNOWN_USER}", f"line 3: {imports.UNKNOWN_USER}"]
