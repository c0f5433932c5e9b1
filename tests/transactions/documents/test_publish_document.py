"""`manage.py publish_document`: a file is stored and listed, or nothing is."""

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import psycopg
import pytest
from django.core.files.base import ContentFile
from django.core.files.storage import storages
from django.db import OperationalError, transaction

from partners.models import Partner
from tests.support.client import PartnerClient
from tests.support.commands import outcome, printed, refusal, run
from tests.support.documents import LONG
from transactions.documents import file_types, publishing
from transactions.documents.downloads import CHUNK_BYTES, STORAGE
from transactions.models import Document
from users.models import User

pytestmark = pytest.mark.usefixtures("folder")

LIST = "/v1/users/ada/documents"


@pytest.fixture
def paper(tmp_path: Path) -> Path:
    """A file to publish."""
    file = tmp_path / "statement.pdf"
    file.write_bytes(LONG)
    return file


def command(ada: User, file: object, *more: str) -> tuple[str, ...]:
    given = ("publish_document", ada.partner.slug, "ada", str(file), "--type", "taxSlip", "--title", "T5 2025")
    return (*given, *more)


def files(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


def test_a_published_file_is_listed_and_comes_back(api: PartnerClient, ada: User, paper: Path) -> None:
    published = outcome(*command(ada, paper, "--created-at", "2026-02-28T23:30:00.5-05:00"))
    (item,) = api.get(LIST).json()["items"]
    assert published == {"documentId": item["documentId"]}
    assert item == {
        "documentId": published["documentId"],
        "createdAt": "2026-03-01T04:30:00.500000Z",
        "type": "taxSlip",
        "title": "T5 2025",
        "contentType": "application/pdf",
        "sizeBytes": len(LONG),
        "sha256": hashlib.sha256(LONG).hexdigest(),
    }
    assert api.get(f"{LIST}/{item['documentId']}").body == LONG


def test_people_are_told_what_was_published(ada: User, paper: Path) -> None:
    said = printed(*command(ada, paper))
    assert said == f"Published {Document.objects.get().document_id}: {len(LONG)} bytes of application/pdf.\n"


def test_each_run_publishes_another(ada: User, paper: Path, folder: Path) -> None:
    assert outcome(*command(ada, paper)) != outcome(*command(ada, paper))
    assert (Document.objects.count(), len(files(folder))) == (2, 2)


def test_a_file_is_for_the_services_account_alone_and_names_nobody(ada: User, paper: Path, folder: Path) -> None:
    outcome(*command(ada, paper))
    (kept,) = files(folder)
    assert (kept.stat().st_mode & 0o777, kept.parent.stat().st_mode & 0o777) == (0o600, 0o700)
    assert kept.parent.name == str(ada.partner_id)
    assert str(ada.pk) not in str(kept.relative_to(folder))


PNG, JPEG = b"\x89PNG\r\n\x1a\n\0", b"\xff\xd8\xff\xe0\0"


TYPES = [
    ("a.pdf", b"%PDF-1.4\n%%EOF", "application/pdf"),
    ("A.PDF", b"%PDF-1.7 \xff%%EOF\r\n\n", "application/pdf"),
    ("a.csv", "één,two\n".encode(), "text/csv"),
    ("a.txt", b"x", "text/plain"),
    ("a.png", PNG, "image/png"),
    ("a.jpg", JPEG, "image/jpeg"),
    ("a.JPEG", JPEG, "image/jpeg"),
    ("a.zip", b"x", "application/zip"),
    ("a.html", b"x", "application/octet-stream"),
    ("a.svg", b"x", "application/octet-stream"),
    ("a", b"x", "application/octet-stream"),
]


def test_the_files_ending_says_what_it_is(ada: User, tmp_path: Path) -> None:
    for name, content, _content_type in TYPES:
        (tmp_path / name).write_bytes(content)
        outcome(*command(ada, tmp_path / name))
    stored = Document.objects.order_by("id").values_list("content_type", flat=True)
    assert [*zip((name for name, *_ in TYPES), stored, strict=True)] == [(name, kind) for name, _content, kind in TYPES]


OTHER_CONTENTS = [
    ("a.pdf", b"hello", "PDF"),
    ("a.pdf", b"%PD", "PDF"),
    ("a.PDF", b"%PDF-1.4 cut off", "PDF"),
    ("a.pdf", b"%PDF-1.4 %%EOF and more", "PDF"),
    ("a.pdf", b"\n%PDF-1.4 %%EOF", "PDF"),
    ("a.pdf", b"%PDF-1.4 %%EOF" + b"x" * 2 * CHUNK_BYTES, "PDF"),
    ("a.png", JPEG, "PNG image"),
    ("a.Jpg", PNG, "JPEG image"),
    ("a.jpeg", b"\xff", "JPEG image"),
    ("a.csv", b"one,\0two\n", "CSV file in UTF-8"),
    ("a.csv", b"\xff\xfeo\0n\0e\0", "CSV file in UTF-8"),
    ("a.csv", b"one" * CHUNK_BYTES + "é".encode()[:1], "CSV file in UTF-8"),
]


def test_a_file_whose_content_is_something_else_is_refused(ada: User, tmp_path: Path, folder: Path) -> None:
    for name, content, kind in OTHER_CONTENTS:
        (tmp_path / name).write_bytes(content)
        said = refusal(*command(ada, tmp_path / name))
        assert said == f"The file is not a {kind}, as its name or content type says.", content[:20]
    (tmp_path / "empty.pdf").touch()
    assert refusal(*command(ada, tmp_path / "empty.pdf")) == "The file is empty."
    assert (Document.objects.count(), files(folder)) == (0, [])


WRONG = [
    ({"slug": "nobody"}, "Partner 'nobody' not found."),
    ({"user": "bob"}, "has no user 'bob'."),
    ({"file": "absent.pdf"}, "absent.pdf: No such file or directory"),
    ({"file": "/"}, "/: Is a directory"),
    ({"title": ""}, "--title: Must not be empty."),
    ({"title": "  "}, "--title: Must not be empty."),
    ({"title": "x" * 201}, "--title: Must be at most 200 characters."),
    ({"title": "a\x07b"}, "--title: Must not contain control characters or lone surrogates."),
    ({"created_at": "yesterday"}, "--created-at: Must be an RFC 3339 date-time"),
    ({"created_at": "2026-01-31"}, "--created-at: Must be an RFC 3339 date-time"),
    ({"created_at": "2026-01-31T12:00:00"}, "--created-at: Must be an RFC 3339 date-time"),
    ({"created_at": "2026-01-31T12:00:00.1234567Z"}, "--created-at: Must not be finer than microseconds."),
    ({"created_at": "9999-12-31T12:00:00Z"}, "--created-at: Must not be more than five minutes ahead."),
]


def test_what_is_wrong_is_one_line_and_nothing_is_stored(ada: User, paper: Path, folder: Path) -> None:
    # Another partner's users are not there.
    Partner.objects.create(slug="other", name="Other")
    for changed, said in (*WRONG, ({"slug": "other"}, "has no user 'ada'.")):
        given = {"slug": ada.partner.slug, "user": "ada", "file": str(paper), "title": "T", "created_at": ""} | changed
        when = ("--created-at", given["created_at"]) if given["created_at"] else ()
        place = (given["slug"], given["user"], given["file"])
        assert said in refusal("publish_document", *place, "--type", "taxSlip", "--title", given["title"], *when)
    assert (Document.objects.count(), files(folder)) == (0, [])


@pytest.mark.parametrize("more", [("--type", "letter"), ("--content-type", "text/csv")])
def test_a_type_that_there_is_not_is_a_wrong_command_line(ada: User, paper: Path, more: tuple[str, str]) -> None:
    assert run(*command(ada, paper, *more)).status == 2


def test_a_file_that_is_too_large_is_refused(
    ada: User, paper: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_types, "MAX_BYTES", len(LONG) - 1)
    assert refusal(*command(ada, paper)).startswith("The file is larger than")
    assert (Document.objects.count(), files(folder)) == (0, [])


# All or nothing


def test_a_row_that_fails_takes_its_file_along(
    ada: User, paper: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        assert files(folder), "the file is stored before the row"
        raise OperationalError

    monkeypatch.setattr(Document, "save", fail)
    assert refusal(*command(ada, paper)) == "The database cannot be reached, or did not respond in time."
    assert (Document.objects.count(), files(folder)) == (0, [])


@pytest.mark.parametrize(
    ("cause", "may_be_committed"),
    [(None, True), (psycopg.errors.AdminShutdown(), True), (psycopg.errors.DeadlockDetected(), False)],
)
def test_a_row_that_may_be_committed_yet_keeps_its_file(
    ada: User,
    paper: Path,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    cause: Exception | None,
    may_be_committed: bool,  # noqa: FBT001 - pytest gives it
) -> None:
    @contextmanager
    def lose_the_answer() -> Iterator[None]:
        # Nobody sees the row so far.
        with transaction.atomic():
            yield
            raise OperationalError from cause

    monkeypatch.setattr(publishing, "transaction", SimpleNamespace(atomic=lose_the_answer))
    refusal(*command(ada, paper))
    assert (len(files(folder)) == 1) == may_be_committed


def test_a_storage_that_cannot_be_used_is_one_line(ada: User, paper: Path, folder: Path) -> None:
    folder.write_text("a file where the folder should be")
    said = refusal(*command(ada, paper))
    assert said == "The storage of documents cannot be used: see DOCUMENT_STORAGE_URL."
    assert Document.objects.count() == 0


def test_a_disk_that_is_full_leaves_nothing(
    ada: User, paper: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    storage = storages[STORAGE]
    save = storage._save  # type: ignore[attr-defined]

    def fill_up(name: str, content: object) -> str:
        save(name, ContentFile(b"half of it"))
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(storage, "_save", fill_up)
    assert refusal(*command(ada, paper)) == "The storage of documents is full."
    assert (Document.objects.count(), files(folder)) == (0, [])
