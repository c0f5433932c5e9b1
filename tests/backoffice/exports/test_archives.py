"""The archive of an evidence pack: its files, their sums and the signature, verified by the commands of its README."""

import io
import json
import subprocess
import tempfile
import zipfile
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from django.test import Client
from pytest_django import Settings

from backoffice.exports import archives
from core import encryption as keys
from partners.models import Partner
from staff.models import Staff
from tests.factories import UserFactory
from tests.support.documents import LONG, add_document, path_of
from tests.support.staff import client_as
from transactions.models import Document
from users.models import User

Pack = dict[str, bytes]


@pytest.fixture
def key(settings: Settings) -> Ed25519PrivateKey:
    settings.EVIDENCE_SIGNING_KEY = Ed25519PrivateKey.generate()
    return settings.EVIDENCE_SIGNING_KEY  # type: ignore[no-any-return]


@pytest.fixture
def document(partner: Partner, folder: Path) -> Document:
    return add_document(UserFactory.create(partner=partner, external_id="ada"), LONG, title="Relevé 2026")


def export(user: User, role: str = "auditor") -> Pack:
    response: Any = client_as(role).post(f"/admin/cases/{user.pk}/evidence/")
    return unzipped(response)


def unzipped(response: Any) -> Pack:
    assert response.status_code == 200, response.status_code
    with zipfile.ZipFile(io.BytesIO(b"".join(response.streaming_content))) as archive:
        assert archive.testzip() is None
        return {name: archive.read(name) for name in archive.namelist()}


def verdict(folder: Path, pack: Pack) -> tuple[bool, bool, str]:
    """Whether the files fit SHA256SUMS and its signature fits the published key, by the commands of README.txt."""
    with TemporaryDirectory(dir=folder) as extracted:
        for name, content in pack.items():
            path = Path(extracted, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        Path(extracted, "published.pem").write_bytes(Client().get("/docs/keys").content)
        readme = pack["README.txt"].decode().splitlines()
        [sums] = [line for line in readme if line.startswith("sha256sum ")]
        [signature] = [line for line in readme if line.startswith("openssl ")] or ["false"]
        signature = signature.replace("public-key.pem", "published.pem")
        done = [
            subprocess.run(line.split(), cwd=extracted, capture_output=True, text=True, check=False)
            for line in (sums, signature)
        ]
    return done[0].returncode == 0, done[1].returncode == 0, "".join(one.stdout + one.stderr for one in done)


def faults_of(pack: Pack) -> dict[str, str]:
    """What is wrong with documents' files, by documentId."""
    documents = json.loads(pack["data.json"])["documents"]
    return {one["documentId"]: one["fileFault"] for one in documents if one["fileFault"]}


def test_a_signed_pack_is_verified_by_openssl_and_sha256sum(
    key: Ed25519PrivateKey, document: Document, tmp_path: Path
) -> None:
    pack = export(document.user)
    file = f"documents/{document.document_id}.pdf"
    assert pack[file] == LONG
    assert json.loads(pack["data.json"])["documents"][0]["file"] == file
    parts = [file, "index.html", "data.json", "public-key.pem", "README.txt"]
    assert [*pack] == [*parts, "SHA256SUMS", "SHA256SUMS.sig"]
    # The published key is the pack's, below a comment.
    assert Client().get("/docs/keys").content.endswith(pack["public-key.pem"])
    fingerprint = keys.fingerprint(key.public_key())
    assert fingerprint in pack["README.txt"].decode()
    assert fingerprint in Client().get("/docs/keys").content.decode()
    assert keys.fingerprint(key.public_key())[:16] in pack["index.html"].decode()
    are_whole, is_signed, text = verdict(tmp_path, pack)
    assert (are_whole, is_signed) == (True, True), text
    assert [f"{name}: OK" in text for name in parts] == [True] * len(parts)


def test_the_fingerprint_is_the_one_that_openssl_and_sha256sum_print(key: Ed25519PrivateKey, tmp_path: Path) -> None:
    (tmp_path / "key.pem").write_text(keys.published())
    command = ["openssl", "pkey", "-pubin", "-in", str(tmp_path / "key.pem"), "-outform", "DER"]
    der = subprocess.run(command, capture_output=True, check=True).stdout
    assert sha256(der).hexdigest() == keys.fingerprint(key.public_key())


def altered(pack: Pack, name: str) -> Pack:
    content = bytearray(pack[name])
    content[len(content) // 2] ^= 1
    return pack | {name: bytes(content)}


def test_an_altered_pack_is_noticed(
    key: Ed25519PrivateKey, document: Document, tmp_path: Path, settings: Settings
) -> None:
    pack = export(document.user)
    for name in pack.keys() - {"README.txt", "public-key.pem", "SHA256SUMS", "SHA256SUMS.sig"}:
        assert verdict(tmp_path, altered(pack, name))[0] is False, f"{name} altered"
        rest = {other: content for other, content in pack.items() if other != name}
        assert verdict(tmp_path, rest)[0] is False, f"{name} removed"
    for name in ("SHA256SUMS", "SHA256SUMS.sig"):
        assert verdict(tmp_path, altered(pack, name))[1] is False, f"{name} altered"
    # Sums that fit an altered file do not fit the signature.
    forged = altered(pack, "data.json")
    sums = [line for line in pack["SHA256SUMS"].decode().splitlines(keepends=True) if "data.json" not in line]
    sums.append(f"{sha256(forged['data.json']).hexdigest()}  data.json\n")
    assert verdict(tmp_path, forged | {"SHA256SUMS": "".join(sums).encode()})[:2] == (True, False)
    settings.EVIDENCE_SIGNING_KEY = Ed25519PrivateKey.generate()
    assert verdict(tmp_path, pack)[1] is False, "signed by another key"


def test_without_a_key_the_pack_says_that_it_is_unsigned(document: Document, tmp_path: Path) -> None:
    pack = export(document.user)
    assert not pack.keys() & {"SHA256SUMS.sig", "public-key.pem"}
    for page in ("index.html", "README.txt"):
        assert "Unsigned: nothing proves" in pack[page].decode()
    assert "not signed" in Client().get("/docs/keys").content.decode()
    are_whole, _is_signed, text = verdict(tmp_path, pack)
    assert are_whole, text


def test_nothing_is_left_on_the_disk_of_a_pack_that_is_not_read_to_its_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    files = iter([("documents/long.pdf", iter([LONG, LONG])), ("index.html", iter([b"page"]))])
    chunks = archives.archive(files, "About.")
    assert next(chunk for chunk in chunks if chunk)
    chunks.close()
    assert list(tmp_path.iterdir()) == []


def test_the_archive_is_sent_file_by_file() -> None:
    begun = list[str]()

    def content(name: str) -> Iterator[bytes]:
        begun.append(name)
        yield from [b"x" * 1000] * 100

    chunks = archives.archive(((name, content(name)) for name in ("first", "second")), "About.")
    head = next(chunk for chunk in chunks if chunk)
    assert begun == ["first"]
    with zipfile.ZipFile(io.BytesIO(head + b"".join(chunks))) as packed:
        assert packed.testzip() is None
        assert {one.file_size for one in packed.infolist()[:2]} == {100_000}


def test_missing_and_damaged_files_are_named_and_the_pack_is_made(
    document: Document, folder: Path, key: Ed25519PrivateKey, tmp_path: Path
) -> None:
    causes, sent = {}, {}
    for content in (b"%PDF-1.7 short %%EOF", LONG):
        for cause in ("missing", "other bytes"):
            damaged = add_document(document.user, content)
            path = path_of(folder, damaged)
            if cause == "missing":
                path.unlink()
            else:
                path.chmod(0o600)
                path.write_bytes(content[:-1] + b"!")
            causes[str(damaged.document_id)] = cause
            # At most the pieces before the last are sent before the damage is known.
            sent[f"documents/{damaged.document_id}.pdf"] = content[: -(len(content) % (64 * 1024))]
    pack = export(document.user)
    assert faults_of(pack) == causes
    assert pack[f"documents/{document.document_id}.pdf"] == LONG
    for name, begun in sent.items():
        assert pack.get(name) in {None, begun}
    assert verdict(tmp_path, pack)[:2] == (True, True)


def test_files_beyond_the_limit_of_a_pack_are_named(document: Document, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archives, "MAX_FILES_BYTES", 100)
    small = add_document(document.user, b"%PDF-1.7 small %%EOF")
    pack = export(document.user)
    assert [name for name in pack if name.startswith("documents/")] == [f"documents/{small.document_id}.pdf"]
    assert faults_of(pack) == {str(document.document_id): "too large"}


def test_who_may_not_download_documents_exports_no_packs(document: Document, monkeypatch: pytest.MonkeyPatch) -> None:
    has_perm = Staff.has_perm
    monkeypatch.setattr(
        Staff, "has_perm", lambda self, name, obj=None: "download" not in name and has_perm(self, name, obj)
    )
    client = client_as("auditor")
    for path in (f"/admin/cases/{document.user.pk}/evidence/", "/admin/exports/packs/"):
        assert client.post(path).status_code == 403, path
