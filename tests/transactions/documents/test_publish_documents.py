"""`manage.py publish_documents`: each line of a manifest is published once, or says why not."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.core.files.storage import storages

from partners.models import AuditEntry, Partner
from tests import factories
from tests.support.commands import outcome, run
from tests.support.documents import folder, stored_at
from transactions.documents.downloads import STORAGE
from transactions.documents.withdrawing import withdraw
from transactions.imports import manifests
from transactions.models import Document, ImportRun, RunKind, RunState
from users.models import User

__all__ = ("folder",)

PDF = b"%PDF-1.7 slip %%EOF\n"


@pytest.fixture
def ada(committed_partner: Partner, folder: Path) -> User:
    """Committed, as the run is recorded by another connection."""
    return factories.UserFactory.create(partner=committed_partner, external_id="ada")


@pytest.fixture
def line(ada: User, tmp_path: Path) -> Callable[..., dict[str, Any]]:
    """Makes lines, each of a file of its own below the manifest's folder; keyword arguments replace fields."""
    (tmp_path / "slips").mkdir()

    def make(number: int = 1, *, content: bytes = PDF, **fields: Any) -> dict[str, Any]:
        (tmp_path / "slips" / f"{number}.pdf").write_bytes(content)
        return {
            "partner": ada.partner.slug,
            "externalId": "ada",
            "file": f"slips/{number}.pdf",
            "type": "taxSlip",
            "title": f"T5 2025 ({number})",
            "createdAt": "2026-02-28T23:30:00-05:00",
        } | fields

    return make


@pytest.fixture
def manifest(tmp_path: Path) -> Callable[..., str]:
    def write(*lines: object) -> str:
        path = tmp_path / "manifest.ndjson"
        path.write_text("".join(f"{one if isinstance(one, str) else json.dumps(one)}\n" for one in lines))
        return str(path)

    return write


Make = Callable[..., dict[str, Any]]
Write = Callable[..., str]


def test_each_line_is_published_and_again_is_unchanged(line: Make, manifest: Write, folder: Path, ada: User) -> None:
    path = manifest(line(1), line(2))
    assert outcome("publish_documents", path) == {"published": 2, "unchanged": 0, "rejected": 0}
    first, second = Document.objects.filter(user=ada).order_by("id")
    assert (first.title, first.type, first.content_type) == ("T5 2025 (1)", "taxSlip", "application/pdf")
    assert first.created_at.isoformat() == "2026-03-01T04:30:00+00:00"
    with storages[STORAGE].open(second.storage_name) as file:
        assert file.read() == PDF
    assert outcome("publish_documents", path) == {"published": 0, "unchanged": 2, "rejected": 0}
    assert Document.objects.filter(user=ada).count() == 2
    assert len([path for path in folder.rglob("*") if path.is_file()]) == 2


def test_a_run_is_recorded_beside_those_of_conversions(line: Make, manifest: Write) -> None:
    run("publish_documents", manifest(line(1), line(2, type="invoice")))
    recorded = ImportRun.objects.latest("id")
    assert (recorded.kind, recorded.state, recorded.line) == (RunKind.DOCUMENTS, RunState.COMPLETE, 2)
    assert (recorded.imported, recorded.unchanged, recorded.rejected) == (1, 0, 1)
    assert outcome("list_imports", "--limit", "1")["imports"][0]["kind"] == "documents"
    published, begun = AuditEntry.objects.filter(action__in=("document.published", "command.run")).order_by("-id")[:2]
    assert published.detail["command"] == begun.object == "publish_documents"
    assert published.actor == begun.actor != ""


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"partner": "nobody"}, "partner not found"),
        ({"externalId": "bob"}, "user not found"),
        ({"file": "slips/none.pdf"}, "file not found"),
        ({"file": "../outside.pdf"}, "file must be below the folder of the files"),
        ({"file": "/etc/hostname"}, "file must be below the folder of the files"),
        ({"file": "slips/link.pdf"}, "file must be below the folder of the files"),
        ({"file": "slips"}, "file not found"),
        ({"content": b"GIF89a"}, "The file is not a PDF, as its name or content type says."),
        ({"content": b""}, "The file is empty."),
        ({"type": "invoice"}, "type must be one of: accountStatement, tradeConfirmation, taxSlip, agreement"),
        ({"title": ""}, "title: "),
        ({"createdAt": "2026-02-28"}, "createdAt "),
        ({"file": 1, "note": "x"}, 'unknown name: "note"; file must be the path of a file'),
    ],
)
def test_a_rejected_line_says_why_and_can_be_corrected(
    fields: dict[str, Any], reason: str, line: Make, manifest: Write, tmp_path: Path
) -> None:
    wrong, right = line(1, **fields), line(2)
    (tmp_path.parent / "outside.pdf").write_bytes(PDF)
    (tmp_path / "slips" / "link.pdf").symlink_to(tmp_path.parent / "outside.pdf")
    rejects = tmp_path / "rejects.ndjson"
    end = run("publish_documents", manifest(wrong, right), "--rejects", str(rejects))
    assert end.status == 1
    assert end.output == "1 published, 0 unchanged, 1 rejected.\n"
    assert end.errors.startswith(f"line 1: {reason}")
    written = rejects.read_text().splitlines()
    assert written[0].startswith(f"# Rejected, line 1: {reason}")
    assert json.loads(written[1]) == wrong
    corrected = manifest(written[0], line(1))
    assert outcome("publish_documents", corrected) == {"published": 1, "unchanged": 0, "rejected": 0}


def test_other_content_is_refused_until_the_former_is_withdrawn(line: Make, manifest: Write, ada: User) -> None:
    reviewer = factories.StaffFactory.create(role="reviewer")
    assert run("publish_documents", manifest(line())).status == 0
    path = manifest(line(content=b"%PDF-1.7 corrected %%EOF"))
    end = run("publish_documents", path)
    assert (end.status, end.errors) == (1, f"line 1: {manifests.OTHER_CONTENT}\n")
    withdraw(document=Document.objects.get(user=ada), by=reviewer, reason="Wrong amount.", source="test")
    assert outcome("publish_documents", path)["published"] == 1
    # The withdrawn one does not come back.
    assert outcome("publish_documents", manifest(line()))["unchanged"] == 1


def test_a_rehearsal_says_the_same_and_publishes_nothing(line: Make, manifest: Write, folder: Path, ada: User) -> None:
    other = line(2, content=b"%PDF-1.7 other %%EOF") | {"title": line(1)["title"]}
    path = manifest(line(1), line(1), other, line(3, externalId="bob"))
    runs = ImportRun.objects.count()
    rehearsed = run("publish_documents", path, "--dry-run")
    assert rehearsed.output == "Dry run, nothing was written: 1 published, 1 unchanged, 2 rejected.\n"
    assert not Document.objects.filter(user=ada).exists()
    assert ImportRun.objects.count() == runs
    assert not folder.exists()
    real = run("publish_documents", path)
    assert (real.output, real.errors) == ("1 published, 1 unchanged, 2 rejected.\n", rehearsed.errors)


def test_a_storage_that_fails_ends_the_run(line: Make, manifest: Write, tmp_path: Path, settings: Any) -> None:
    (tmp_path / "file").touch()
    settings.STORAGES = stored_at((tmp_path / "file").as_uri())
    end = run("publish_documents", manifest(line(1), line(2)))
    assert end.status == 1
    assert "The storage of documents cannot be used" in end.errors
    assert "The last line processed is 0. Run it again: lines published already are unchanged." in end.errors
    assert ImportRun.objects.latest("id").state == RunState.FAILED


def test_files_may_be_elsewhere(line: Make, tmp_path: Path) -> None:
    elsewhere = tmp_path / "lists"
    elsewhere.mkdir()
    (elsewhere / "manifest.ndjson").write_text(json.dumps(line()))
    command = ("publish_documents", str(elsewhere / "manifest.ndjson"))
    assert run(*command).errors == "line 1: file not found\n"
    assert outcome(*command, "--files", str(tmp_path))["published"] == 1
    assert run(*command, "--files", str(tmp_path / "none")).errors == "CommandError: --files is not a folder.\n"
    assert ImportRun.objects.latest("id").state == RunState.FAILED


def test_a_compressed_manifest_is_refused_with_what_reads_it(tmp_path: Path, committed_partner: Partner) -> None:
    (tmp_path / "manifest.gz").write_bytes(b"\x1f\x8b\x08")
    end = run("publish_documents", str(tmp_path / "manifest.gz"))
    assert end.status == 1
    assert end.errors.endswith("Decompress it: zcat FILE | manage.py publish_documents -\n")
