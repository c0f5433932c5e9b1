"""`manage.py publish_documents`: each line of a manifest is published once, or says why not."""

import json
import unicodedata
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import pytest
from django.core.files.storage import storages
from django.db import OperationalError, connection
from django.utils import timezone

from core.models import AuditEntry
from partners.models import Partner
from tests import factories
from tests.support.commands import outcome, run
from tests.support.documents import folder, stored_at
from transactions import management
from transactions.documents.downloads import STORAGE
from transactions.documents.publishing import publish, withdraw
from transactions.models import Document
from users.models import User

__all__ = ("folder",)

PDF = b"%PDF-1.7 slip %%EOF\n"


@pytest.fixture
def ada(committed_partner: Partner, folder: Path) -> User:
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


def test_the_audit_log_has_the_run_and_each_document(line: Make, manifest: Write) -> None:
    run("publish_documents", manifest(line(1), line(2, type="invoice")))
    ended, published, begun = AuditEntry.objects.order_by("-id")[:3]
    assert (begun.action, published.action, ended.action) == ("command.run", "document.published", "import.ended")
    assert published.detail["command"] == begun.object == ended.object == "publish_documents"
    assert published.actor == begun.actor == ended.actor != ""
    assert ended.detail["file"] == "manifest.ndjson"
    assert [ended.detail[name] for name in ("published", "unchanged", "rejected")] == [1, 0, 1]


def test_a_document_without_a_time_was_issued_now(line: Make, manifest: Write, ada: User) -> None:
    given = line(1)
    del given["createdAt"]
    before = timezone.now()
    assert outcome("publish_documents", manifest(given, given)) == {"published": 1, "unchanged": 1, "rejected": 0}
    assert before <= Document.objects.get(user=ada).created_at <= timezone.now()


REJECTED: list[tuple[dict[str, Any], str]] = [
    ({"partner": "nobody"}, "partner not found"),
    ({"externalId": "bob"}, "user not found"),
    ({"file": "slips/none.pdf"}, "file: Not found."),
    ({"file": "../outside.pdf"}, "file: Must be below the folder of the manifest."),
    ({"file": "/etc/hostname"}, "file: Must be below the folder of the manifest."),
    ({"file": "slips/link.pdf"}, "file: Must be below the folder of the manifest."),
    ({"file": "slips"}, "file: Not found."),
    ({"file": "slips/itself.pdf"}, "file: Not found."),
    ({"content": b"GIF89a"}, "The file is not a PDF, as its name or content type says."),
    ({"content": b""}, "The file is empty."),
    ({"type": "invoice"}, "type: Must be one of: accountStatement, tradeConfirmation, taxSlip, agreement."),
    ({"title": ""}, "title: "),
    ({"createdAt": "2026-02-28"}, "createdAt: Must be an RFC 3339"),
    ({"createdAt": "2999-01-01T00:00:00Z"}, "createdAt: Must not be more than five minutes ahead."),
    ({"note": "x"}, '"note": unknown name'),
    ({"file": 1}, "file: Must be the path of a file"),
]


def test_rejected_lines_say_why_and_can_be_corrected(line: Make, manifest: Write, tmp_path: Path) -> None:
    wrong = [line(number, **fields) for number, (fields, _reason) in enumerate(REJECTED, 1)]
    (tmp_path.parent / "outside.pdf").write_bytes(PDF)
    (tmp_path / "slips" / "link.pdf").symlink_to(tmp_path.parent / "outside.pdf")
    (tmp_path / "slips" / "itself.pdf").symlink_to("itself.pdf")
    rejects = tmp_path / "rejects.ndjson"
    end = run("publish_documents", manifest(*wrong, line(99)), "--rejects", str(rejects))
    assert end.status == 1
    assert end.output == f"1 published, 0 unchanged, {len(wrong)} rejected.\n"
    written = rejects.read_text().splitlines()
    assert [json.loads(rejected) for rejected in written[1::2]] == wrong
    for number, (_fields, reason) in enumerate(REJECTED, 1):
        assert end.errors.splitlines()[number - 1].startswith(f"line {number}: {reason}")
        assert written[2 * number - 2].startswith(f"# Rejected, line {number}: {reason}")
    corrected = [one for number in range(1, len(wrong) + 1) for one in (written[2 * number - 2], line(number))]
    expected = {"published": len(wrong), "unchanged": 0, "rejected": 0}
    assert outcome("publish_documents", manifest(*corrected)) == expected


def test_other_content_is_another_document_and_a_withdrawn_one_does_not_come_back(
    line: Make, manifest: Write, ada: User
) -> None:
    reviewer = factories.StaffFactory.create(role="reviewer")
    assert run("publish_documents", manifest(line())).status == 0
    withdraw(document=Document.objects.get(user=ada), by=reviewer, reason="Wrong amount.")
    assert outcome("publish_documents", manifest(line()))["unchanged"] == 1
    assert outcome("publish_documents", manifest(line(content=b"%PDF-1.7 corrected %%EOF")))["published"] == 1


def test_a_storage_that_fails_ends_the_run(line: Make, manifest: Write, tmp_path: Path, settings: Any) -> None:
    (tmp_path / "file").touch()
    settings.STORAGES = stored_at((tmp_path / "file").as_uri())
    end = run("publish_documents", manifest(line(1), line(2)))
    assert end.status == 1
    assert "The storage of documents cannot be used" in end.errors
    assert "The last line processed is 0 (0 published, 0 unchanged, 0 rejected). Run it again" in end.errors


def test_a_run_outlives_a_lost_connection(line: Make, manifest: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    losses = iter([True])

    def lose_the_answer(**given: Any) -> Document:
        document = publish(**given)
        if next(losses, False):
            connection.close()
            raise OperationalError("gone")
        return document

    monkeypatch.setattr(management, "RETRY_PAUSES", (0.01,))
    monkeypatch.setattr("transactions.management.commands.publish_documents.publish", lose_the_answer)
    # The first was committed, and the process does not know.
    counts = {"published": 1, "unchanged": 1, "rejected": 0}
    assert outcome("publish_documents", manifest(line(1), line(2))) == counts


@pytest.mark.parametrize("stored_as", ["NFC", "NFD"])
def test_a_name_finds_its_file_however_its_accents_are_written(
    line: Make, manifest: Write, tmp_path: Path, stored_as: Literal["NFC", "NFD"]
) -> None:
    given = line(1)
    for form in ("NFC", "NFD"):
        name = unicodedata.normalize(stored_as, f"relevé {form}.pdf")
        (tmp_path / "slips" / name).write_bytes(PDF + form.encode() + b"%%EOF")
    lines = [given | {"file": "slips/" + unicodedata.normalize(form, f"relevé {form}.pdf")} for form in ("NFC", "NFD")]
    assert outcome("publish_documents", manifest(*lines)) == {"published": 2, "unchanged": 0, "rejected": 0}
