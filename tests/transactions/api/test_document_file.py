"""A document's file: contract, section 7."""

import hashlib
import os
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

import pytest
from structlog.testing import capture_logs

from tests.support.client import PartnerClient, Response
from tests.support.documents import LONG, Faults, add_document, path_of
from tests.support.responses import assert_error, failing_fields
from transactions.documents.downloads import CHUNK_BYTES, DocumentError, respond
from transactions.documents.folder import DocumentFolder
from transactions.models import Document
from users.models import User

pytestmark = pytest.mark.usefixtures("folder")

LIST = "/v1/users/ada/documents"


def url(document: Document) -> str:
    return f"{LIST}/{document.document_id}"


def test_a_file_comes_as_it_was_published(api: PartnerClient, ada: User) -> None:
    edges = [CHUNK_BYTES - 1, CHUNK_BYTES, CHUNK_BYTES + 1]
    for size in (1, *edges, 2 * CHUNK_BYTES, 3 * CHUNK_BYTES, 3 * CHUNK_BYTES + 1):
        content = (LONG * 2)[:size]
        response = api.get(url(add_document(ada, content)))
        assert (response.status, response.header("Content-Length")) == (200, str(size))
        assert response.body == content, size


def test_its_headers_describe_it(api: PartnerClient, ada: User) -> None:
    content = b"when,amount\n"
    response = api.get(url(add_document(ada, content, title="Confirmation 7", content_type="text/csv")))
    assert {name: response.header(name) for name in CHECKED_HEADERS} == {
        "Content-Type": "text/csv",
        "Content-Length": "12",
        "Content-Disposition": 'attachment; filename="Confirmation 7.csv"',
        "ETag": f'"{hashlib.sha256(content).hexdigest()}"',
        "Accept-Ranges": "none",
        "X-Content-Type-Options": "nosniff",
        "Cache-Control": "no-store",
        "RateLimit-Policy": '"default";q=1000000;w=60',
    }
    assert uuid.UUID(response.header("X-Request-Id"))
    assert (response.header("RateLimit") or "").startswith('"default";r=9999')


CHECKED_HEADERS = (
    "Content-Type",
    "Content-Length",
    "Content-Disposition",
    "ETag",
    "Accept-Ranges",
    "X-Content-Type-Options",
    "Cache-Control",
    "RateLimit-Policy",
)


def test_ranges_and_conditions_are_ignored(api: PartnerClient, ada: User) -> None:
    made = add_document(ada, b"12345678")
    for headers in ({"Range": "bytes=0-3"}, {"If-None-Match": "*"}, {"Accept": "application/json"}):
        response = api.get(url(made), headers=headers)
        assert (response.status, response.body) == (200, b"12345678"), headers


DISPOSITIONS = {
    "March 2026": 'filename="March 2026.pdf"',
    "Relevé d’août": "filename*=utf-8''Relev%C3%A9%20d%E2%80%99ao%C3%BBt.pdf",
    "取引明細": "filename*=utf-8''%E5%8F%96%E5%BC%95%E6%98%8E%E7%B4%B0.pdf",
    "../../etc/passwd": 'filename="etc-passwd.pdf"',
    'a"; filename="b.exe': 'filename="a-- filename=-b.exe.pdf"',
    "50%41": 'filename="50-41.pdf"',
    "bill\u202efdp.exe": 'filename="bill fdp.exe.pdf"',
    "...": 'filename="document.pdf"',
    "x" * 200: f'filename="{"x" * 200}.pdf"',
    "é" * 200: f"filename*=utf-8''{'%C3%A9' * 100}.pdf",
}


def test_it_is_saved_under_a_safe_name(api: PartnerClient, ada: User) -> None:
    found = {title: api.get(url(add_document(ada, title=title))) for title in DISPOSITIONS}
    assert {title: response.header("Content-Disposition") for title, response in found.items()} == {
        title: f"attachment; {disposition}" for title, disposition in DISPOSITIONS.items()
    }


def test_an_unknown_document_id_is_not_found_nor_that_of_another_user(
    api: PartnerClient, other_api: PartnerClient, ada: User, create_user: Callable[..., Response]
) -> None:
    made = add_document(ada)
    # It may be written in capitals.
    assert api.get(f"{LIST}/{str(made.document_id).upper()}").status == 200
    forms = ["nonsense", "%00", "1", "%7B{}%7D", "urn:uuid:{}", "{}%20", "{}0", str(uuid.uuid4())]
    for form in forms:
        assert_error(api.get(f"{LIST}/{form.format(made.document_id)}"), 404)
    create_user(externalId="bob")
    assert_error(api.get(f"/v1/users/bob/documents/{made.document_id}"), 404)
    assert_error(other_api.get(url(made)), 404)


def test_the_path_is_checked_before_the_document_is_looked_for(api: PartnerClient, ada: User) -> None:
    assert failing_fields(api.get("/v1/users/%07/documents/nonsense")) == ["externalId"]
    assert_error(api.get(f"{LIST}/nonsense", secret="psi_secret_wrong"), 401)


# Files that are not as published


def outcome(api: PartnerClient, document: Document) -> Response | DocumentError:
    """The response, or the exception in place of its last chunk."""
    try:
        return api.get(url(document))
    except DocumentError as error:
        return error


DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "a byte changed at the start": lambda kept: bytes([kept[0] ^ 1]) + kept[1:],
    "a byte changed at the end": lambda kept: kept[:-1] + bytes([kept[-1] ^ 1]),
    "a byte less": lambda kept: kept[:-1],
    "half of it": lambda kept: kept[: len(kept) // 2],
    "nothing": lambda _kept: b"",
    "a byte more": lambda kept: kept + b"!",
    "twice": lambda kept: kept + kept,
}


@pytest.mark.parametrize("size", [10, CHUNK_BYTES, CHUNK_BYTES + 1, 2 * CHUNK_BYTES, 4 * CHUNK_BYTES, len(LONG)])
def test_a_damaged_file_is_never_sent_whole(
    api: PartnerClient, ada: User, folder: Path, size: int, faults: Faults
) -> None:
    made = add_document(ada, LONG[:size])
    for name, damage in DAMAGES.items():
        path_of(folder, made).write_bytes(damage(LONG[:size]))
        response = outcome(api, made)
        if isinstance(response, DocumentError):
            # The server breaks the connection off here: tests/slow/live.
            assert size > CHUNK_BYTES, name
            assert response.__cause__ is None
        else:
            # Known before the first byte was sent.
            assert_error(response, 500)
            assert response.header("ETag") is None
    assert faults() == {"other bytes": len(DAMAGES)}


def test_a_missing_file_is_an_error_that_is_counted(
    api: PartnerClient, ada: User, folder: Path, faults: Faults
) -> None:
    made = add_document(ada)
    path_of(folder, made).unlink()
    responses = [api.get(url(made)) for _ in range(3)]
    assert [assert_error(response, 500)["error"] for response in responses] == ["internal_error"] * 3
    assert faults() == {"missing": 3}


def test_an_unreachable_storage_can_be_retried(api: PartnerClient, ada: User, folder: Path, faults: Faults) -> None:
    made = add_document(ada)
    folder.rename(folder.with_name("elsewhere"))
    response = api.get(url(made))
    assert (assert_error(response, 503)["error"], response.header("Retry-After")) == ("internal_error", "2")
    assert faults() == {"storage failed": 1}
    folder.with_name("elsewhere").rename(folder)
    assert api.get(url(made)).status == 200


class _Failing:
    """A file that fails once so many bytes were read."""

    def __init__(self, file: IO[bytes], after: int) -> None:
        self._file, self._left = file, after
        self.closed = False

    def read(self, size: int) -> bytes:
        if self._left <= 0:
            raise OSError(5, "Input/output error: /secret/path")
        self._left -= size
        return bytes(self._file.read(size))

    def close(self) -> None:
        self.closed = True
        self._file.close()


@pytest.fixture
def failing(monkeypatch: pytest.MonkeyPatch) -> list[_Failing]:
    """The disk fails after two pieces of every file; the files that were opened."""
    opened: list[_Failing] = []
    open_file = DocumentFolder._open

    def open_failing(storage: DocumentFolder, name: str, mode: str = "rb") -> Any:
        opened.append(_Failing(open_file(storage, name, mode), 2 * CHUNK_BYTES))
        return opened[-1]

    monkeypatch.setattr(DocumentFolder, "_open", open_failing)
    return opened


def test_a_storage_that_fails_midway_aborts_the_response(
    api: PartnerClient, ada: User, failing: list[_Failing], faults: Faults
) -> None:
    made = add_document(ada, LONG)
    with capture_logs() as lines, pytest.raises(DocumentError) as raised:
        api.get(url(made))
    assert faults() == {"storage failed": 1}
    assert "secret" not in f"{raised.value}"
    assert [file.closed for file in failing] == [True]
    (failed,) = [line for line in lines if line["event"] == "document download failed"]
    assert (failed["document"], failed["cause"], failed["sent"]) == (
        str(made.document_id),
        "storage failed",
        CHUNK_BYTES,
    )
    # The request's own line was written when its response began.
    (line,) = [line for line in lines if line["event"] == "request"]
    assert (line["status"], "request_id" in failed) == (200, True)


def test_a_download_is_logged_with_its_request_id(api: PartnerClient, ada: User) -> None:
    made = add_document(ada, LONG, title="Of Ada Byron")
    with capture_logs() as lines:
        response = api.get(url(made))
    (sent,) = [line for line in lines if line["event"] == "document sent"]
    assert (sent["document"], sent["bytes"]) == (str(made.document_id), len(LONG))
    assert sent["request_id"] == response.header("X-Request-Id")
    assert "Ada" not in str(lines)


def test_the_file_of_an_abandoned_download_is_closed(ada: User, failing: list[_Failing]) -> None:
    response = respond(add_document(ada, LONG), owner="a partner", request_id="of-this-request")
    next(iter(response))
    response.close()
    assert [file.closed for file in failing] == [True]


def a_pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def a_link(path: Path) -> None:
    elsewhere = path.with_name("elsewhere")
    path.rename(elsewhere)
    path.symlink_to(elsewhere)


@pytest.mark.parametrize("instead", [a_pipe, a_link])
def test_pipes_and_links_are_not_sent(
    api: PartnerClient, ada: User, folder: Path, instead: Callable[[Path], None]
) -> None:
    document = add_document(ada)
    instead(path_of(folder, document))
    assert_error(api.get(url(document)), 503)
