"""`manage.py record_file_entries` and `list_file_entries`: docs/operations.md, "The file of a user"."""

import io
import json
from collections.abc import Iterable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from core.models import AuditEntry
from partners.models import Mode
from tests import factories
from tests.support.commands import outcome, run
from tests.support.plans import UNORDERED, planning_without
from transactions.management.commands.record_file_entries import Command
from users.file import entries, kinds
from users.models import FileEntry, User
from users.profile import field_rules

pytestmark = pytest.mark.django_db

SCREENED = {"kind": "screening", "list": "UN", "listDate": "2026-11-01", "result": "clear"}
MATCH = SCREENED | {"result": "possibleMatch", "reference": "QDi.1"}
RATED = {"kind": "riskRating", "rating": "low", "reason": "Salary.", "reviewOn": "2027-01-01"}
VERIFIED = {
    "kind": "identityVerification",
    "method": "creditFile",
    "verifiedOn": "2026-01-15",
    "source": "A bureau",
    "reference": "R-4711",
}


@pytest.fixture
def record(tmp_path: Path, user: User) -> Any:
    """Record lines about `user` and return the counts."""

    def recorded(*lines: dict[str, Any] | bytes, options: Iterable[str] = ()) -> tuple[int, int, int]:
        file = tmp_path / "entries.ndjson"
        about = {"partner": user.partner.slug, "externalId": user.external_id}
        file.write_bytes(
            b"".join((one if isinstance(one, bytes) else json.dumps(about | one).encode()) + b"\n" for one in lines)
        )
        ended = run("record_file_entries", str(file), "--json", *options)
        recorded.errors = ended.errors.splitlines()  # type: ignore[attr-defined]
        counts = json.loads(ended.output)
        assert ended.status == (1 if counts["rejected"] else 0)
        assert list(counts) == ["recorded", "unchanged", "rejected"]
        return tuple(counts.values())

    return recorded


def open_matches() -> list[str]:
    return [entry["reference"] for entry in outcome("list_file_entries", "screening")["entries"]]


def resolve(reference: str) -> None:
    entry = entries.open_entries(kinds.SCREENING).get(fields__reference=reference)
    data = {"resolution": "falsePositive", "note": "Another birth date."}
    entries.end(entry_id=entry.pk, data=data, by=factories.StaffFactory.create())


def test_each_kind_is_recorded_once_and_then_unchanged(record: Any, user: User) -> None:
    lines = (SCREENED, MATCH, RATED, VERIFIED)
    assert record(*lines, SCREENED, VERIFIED) == (4, 2, 0)
    assert record(*lines) == (0, 4, 0)
    assert {entry.kind for entry in FileEntry.objects.filter(user=user)} == {one["kind"] for one in lines}
    changed = (RATED | {"rating": "high"}, VERIFIED | {"reference": "R-4712"}, SCREENED | {"listDate": "2026-11-02"})
    assert record(*changed) == (3, 0, 0)
    # The newest counts, not any that was before; of two in one batch the later one.
    assert record(RATED, RATED | {"rating": "high"}) == (2, 0, 0)
    [rating] = FileEntry.objects.filter(kind="riskRating", is_open=True)
    assert rating.fields["rating"] == "high"


def test_it_says_which_operator_and_leaves_lines_without_numbers(
    record: Any, user: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SUDO_USER", "olivia")
    record(VERIFIED, MATCH)
    assert {entry.author for entry in FileEntry.objects.all()} == {"olivia"}
    lines = AuditEntry.objects.filter(action="fileEntry.recorded", object=str(user.pk))
    assert {(line.actor, line.actor_kind, line.detail["command"]) for line in lines} == {
        ("olivia", "operator", "record_file_entries")
    }
    assert "R-4711" not in "".join(str(line.detail) for line in AuditEntry.objects.all())
    assert "R-4711" not in str(FileEntry.objects.filter(kind="identityVerification").values())


def test_a_resolved_match_stays_resolved_until_a_result_with_another_reference(record: Any) -> None:
    record(MATCH)
    assert open_matches() == ["QDi.1"]
    # A person resolves it; a later result does not.
    assert record(SCREENED, SCREENED | {"reference": "QDi.1"}) == (2, 0, 0)
    assert open_matches() == ["QDi.1"]
    resolve("QDi.1")
    assert open_matches() == []
    assert record(MATCH | {"listDate": "2026-11-02"}, MATCH | {"listDate": "2026-11-02"}) == (1, 1, 0)
    assert open_matches() == []
    record(MATCH | {"reference": "QDi.2"})
    assert open_matches() == ["QDi.2"]
    record(MATCH | {"list": "OFAC"})
    assert open_matches() == ["QDi.2", "QDi.1"]


def test_a_match_that_is_found_each_night_is_open_once_since_the_first(record: Any) -> None:
    for day in ("01", "02", "03"):
        record(MATCH | {"listDate": f"2026-11-{day}"})
    [listed] = outcome("list_file_entries", "screening")["entries"]
    first = FileEntry.objects.order_by("created_at")[0]
    assert listed["createdAt"].startswith(first.created_at.strftime("%Y-%m-%dT%H:%M:%S"))


BAD_LINES: list[tuple[Any, str]] = [
    (b"{", "not a JSON object"),
    (MATCH | {"partner": "nobody"}, "user not found"),
    (MATCH | {"externalId": "nobody"}, "user not found"),
    (MATCH | {"externalId": "a/b"}, "externalId: Must not contain a slash"),
    (MATCH | {"kind": "personRequest"}, "kind: Must be one of: identityVerification"),
    (MATCH | {"kind": ["screening"]}, "kind: Must be one of"),
    (MATCH | {"list": ""}, "list: Must not be empty"),
    (MATCH | {"listDate": "2999-01-01"}, "listDate: Must not be in the future"),
    (MATCH | {"shoe\x1bSize": 9}, "shoe\\u001bSize: Unknown field"),
    (
        {"kind": "screening", "list": "UN", "listDate": "2026-11-01", "result": "possibleMatch"},
        "reference: This field",
    ),
    (RATED | {"reviewOn": "2999-01-01"}, "reviewOn: Must be at most 5 years ahead"),
    (RATED | {"rating": "none"}, "rating: Must be one of: low, medium, high"),
    (VERIFIED | {"verifiedOn": "1990-12-09"}, "verifiedOn: Must not be before the user's birth date"),
]


def test_a_bad_line_is_rejected_with_its_number_and_the_others_are_recorded(record: Any, tmp_path: Path) -> None:
    rejects = tmp_path / "rejects"
    lines = [RATED, *(line for line, _why in BAD_LINES), MATCH]
    assert record(*lines, options=("--rejects", str(rejects))) == (2, 0, len(BAD_LINES))
    for number, (error, (_line, why)) in enumerate(zip(record.errors, BAD_LINES, strict=True), 2):
        assert error.startswith(f"line {number}: {why}")
        assert f"# Rejected, line {number}: " in rejects.read_text()


def test_a_dry_run_writes_nothing(record: Any) -> None:
    assert record(MATCH, MATCH, RATED, options=["--dry-run"]) == (2, 1, 0)
    assert not FileEntry.objects.exists()


def test_batches_commit_one_by_one_and_standard_input_is_read(
    user: User, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    about = {"partner": user.partner.slug, "externalId": user.external_id}
    monkeypatch.setattr(Command, "batch_lines", 2)
    lines = [json.dumps(about | MATCH | {"reference": f"Q{number}"}) for number in range(5)]
    with (tmp_path / "lines").open("w+b") as file:
        file.write("\n".join(lines).encode())
        file.seek(0)
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(file))
        assert outcome("record_file_entries", "-") == {"recorded": 5, "unchanged": 0, "rejected": 0}


def test_reviews_and_requests_are_listed_once_they_are_due_or_fall_due(record: Any, user: User) -> None:
    today = field_rules.today()
    soon, later = today + timedelta(days=10), today + timedelta(days=20)
    record(RATED | {"reviewOn": str(soon)})
    assert outcome("list_file_entries", "riskRating")["entries"] == []
    [listed] = outcome("list_file_entries", "riskRating", "--due-within-days", "10")["entries"]
    assert list(listed) == ["partner", "externalId", "kind", "createdAt", "dueOn"]
    assert (listed["partner"], listed["externalId"], listed["kind"]) == (user.partner.slug, "ada", "riskRating")
    assert listed["dueOn"] == str(soon)
    # A review is a new rating, or the same one confirmed.
    record(RATED | {"reviewOn": str(later)})
    within = ("list_file_entries", "riskRating", "--due-within-days", "30")
    assert [one["dueOn"] for one in outcome(*within)["entries"]] == [str(later)]

    asked = {"request": "access", "receivedOn": str(today - timedelta(days=30)), "identityCheck": "By phone."}
    born, reviewer = user.date_of_birth, factories.StaffFactory.create()
    entry = entries.record(user_id=user.pk, born=born, kind="personRequest", data=asked, by=reviewer)
    [request] = outcome("list_file_entries", "personRequest")["entries"]
    assert request["dueOn"] == str(today)
    closed = {"outcome": "Given.", "closedOn": str(today)}
    entries.end(entry_id=entry.pk, data=closed, by=reviewer)
    assert outcome("list_file_entries", "personRequest")["entries"] == []


def test_users_of_the_sandbox_are_listed_where_they_are_asked_for(record: Any, tmp_path: Path) -> None:
    user = factories.UserFactory.create(partner__mode=Mode.SANDBOX)
    record(MATCH | {"partner": user.partner.slug, "externalId": user.external_id}, MATCH | {"reference": "live"})
    assert open_matches() == ["live"]
    found = outcome("list_file_entries", "screening", "--partner", user.partner.slug)["entries"]
    assert [one["reference"] for one in found] == ["QDi.1"]


def test_a_list_is_in_the_order_of_its_index(db: None) -> None:
    for kind in (kinds.SCREENING, kinds.RISK_RATING, kinds.PERSON_REQUEST):
        sql, parameters = entries.open_entries(kind)[:100].query.sql_with_params()
        with planning_without(*UNORDERED) as cursor:
            cursor.execute(f"EXPLAIN {sql}", parameters)
            plan = "\n".join(row for (row,) in cursor.fetchall())
        assert "using file_entry_open on" in plan
        assert "Sort" not in plan
