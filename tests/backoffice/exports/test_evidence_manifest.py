"""The manifest of an evidence pack, its signature, and the program in the pack that verifies both."""

import io
import json
import re
import subprocess
import sys
import zipfile
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from django.test import Client
from pytest_django import Settings

from backoffice.exports import evidence_manifest
from partners.evidence import VERIFY
from partners.evidence.keys import key_id
from tests.support.client import Response
from tests.support.documents import LONG, add_document, path_of
from tests.support.staff import client_as
from transactions.models import Document
from users.models import Staff, User

Pack = dict[str, bytes]


@pytest.fixture
def key(settings: Settings) -> Ed25519PrivateKey:
    settings.EVIDENCE_SIGNING_KEY = Ed25519PrivateKey.generate()
    return settings.EVIDENCE_SIGNING_KEY  # type: ignore[no-any-return]


@pytest.fixture
def document(create_user: Callable[..., Response], folder: Path) -> Document:
    user = User.objects.get(pk=create_user(externalId="ada").json()["userId"])
    return add_document(user, LONG, title="Relevé 2026")


def export(user: User, role: str = "auditor") -> Pack:
    response: Any = client_as(role).post(f"/admin/cases/{user.pk}/evidence/")
    return unzipped(response)


def unzipped(response: Any) -> Pack:
    assert response.status_code == 200, response.status_code
    with zipfile.ZipFile(io.BytesIO(b"".join(response.streaming_content))) as archive:
        assert archive.testzip() is None
        return {name: archive.read(name) for name in archive.namelist()}


def manifest_of(pack: Pack) -> dict[str, Any]:
    return json.loads(pack["manifest.json"])  # type: ignore[no-any-return]


def verdict(folder: Path, pack: Pack, *, public_key: bool = True) -> tuple[int, str]:
    """Run the pack's own program, outside the project, with the key that the service publishes."""
    path = folder / "pack.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in pack.items():
            archive.writestr(name, content)
    (folder / "verify.py").write_bytes(VERIFY.read_bytes())
    (folder / "keys").write_bytes(Client().get("/docs/keys").content)
    command = [sys.executable, "-I", "verify.py", "pack.zip", *(["keys"] if public_key else [])]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


def test_a_signed_pack_is_verified_with_the_published_key(
    key: Ed25519PrivateKey, document: Document, tmp_path: Path
) -> None:
    pack = export(document.user)
    file = f"documents/{document.document_id}.pdf"
    assert pack[file] == LONG
    assert json.loads(pack["data.json"])["documents"][0]["file"] == file
    manifest = manifest_of(pack)
    assert [part["name"] for part in manifest["parts"]] == [file, "index.html", "data.json", "verify.py"]
    assert manifest["signedBy"] == {"algorithm": "Ed25519", "keyId": key_id(key.public_key())}
    assert key_id(key.public_key()) in pack["index.html"].decode()
    status, text = verdict(tmp_path, pack)
    assert status == 0, text
    assert "4 parts are unchanged" in text
    status, text = verdict(tmp_path, pack, public_key=False)
    assert (status, "NOT VERIFIED" in text) == (2, True)


def altered(pack: Pack, name: str) -> Pack:
    content = bytearray(pack[name])
    content[len(content) // 2] ^= 1
    return pack | {name: bytes(content)}


def test_an_altered_pack_is_refused(key: Ed25519PrivateKey, document: Document, tmp_path: Path) -> None:
    pack = export(document.user)
    for name in pack:
        status, text = verdict(tmp_path, altered(pack, name))
        assert (status, text.startswith("REFUSED")) == (1, True), f"{name} altered: {text}"
        rest = {other: content for other, content in pack.items() if other != name}
        status, text = verdict(tmp_path, rest)
        assert (status, text.startswith("REFUSED")) == (1, True), f"{name} removed: {text}"
    status, text = verdict(tmp_path, pack | {"documents/more.pdf": b"%PDF"})
    assert (status, "Added or removed: documents/more.pdf" in text) == (1, True)


def test_a_pack_signed_by_another_key_is_refused(
    key: Ed25519PrivateKey, document: Document, tmp_path: Path, settings: Settings
) -> None:
    pack = export(document.user)
    settings.EVIDENCE_SIGNING_KEY = Ed25519PrivateKey.generate()
    status, text = verdict(tmp_path, pack)
    assert (status, "another key" in text) == (1, True)


def test_a_manifest_that_fits_altered_parts_does_not_fit_the_signature(
    key: Ed25519PrivateKey, document: Document, tmp_path: Path
) -> None:
    pack = altered(export(document.user), "data.json")
    manifest = manifest_of(pack)
    for part in manifest["parts"]:
        part["sha256"] = sha256(pack[part["name"]]).hexdigest()
    status, text = verdict(tmp_path, pack | {"manifest.json": json.dumps(manifest).encode()})
    assert (status, "another key signed, or the manifest was altered" in text) == (1, True)


def test_without_a_key_the_pack_says_that_it_is_unsigned(document: Document, tmp_path: Path) -> None:
    pack = export(document.user)
    assert manifest_of(pack)["signedBy"] is None
    assert "manifest.sig" not in pack
    assert "Unsigned: nothing proves" in pack["index.html"].decode()
    assert "not signed" in Client().get("/docs/keys").content.decode()
    status, text = verdict(tmp_path, pack, public_key=False)
    assert (status, "NOT VERIFIED" in text) == (2, True)
    assert verdict(tmp_path, pack)[0] == 1


@pytest.mark.parametrize("cause", ["missing", "other bytes"])
@pytest.mark.parametrize("content", [b"%PDF-1.7 short %%EOF", LONG])
def test_a_missing_or_damaged_file_is_named_and_the_pack_is_made(
    cause: str, content: bytes, document: Document, folder: Path, key: Ed25519PrivateKey, tmp_path: Path
) -> None:
    damaged = add_document(document.user, content)
    path = path_of(folder, damaged)
    if cause == "missing":
        path.unlink()
    else:
        path.chmod(0o600)
        path.write_bytes(content[:-1] + b"!")
    pack = export(document.user)
    name = f"documents/{damaged.document_id}.pdf"
    assert manifest_of(pack)["faults"] == [{"name": name, "fault": cause}]
    [record] = [
        one for one in json.loads(pack["data.json"])["documents"] if one["documentId"] == str(damaged.document_id)
    ]
    assert record["fileFault"] == cause
    assert pack[f"documents/{document.document_id}.pdf"] == LONG
    assert pack.get(name) in {None, LONG[: -(len(LONG) % (64 * 1024)) or None]}
    assert verdict(tmp_path, pack)[0] == 0


def test_files_beyond_the_limit_of_a_pack_are_named(document: Document, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(evidence_manifest, "MAX_FILES_BYTES", 100)
    small = add_document(document.user, b"%PDF-1.7 small %%EOF")
    pack = export(document.user)
    assert [name for name in pack if name.startswith("documents/")] == [f"documents/{small.document_id}.pdf"]
    assert manifest_of(pack)["faults"] == [{"name": f"documents/{document.document_id}.pdf", "fault": "too large"}]


def test_an_exporter_who_may_not_download_gets_no_files(document: Document, monkeypatch: pytest.MonkeyPatch) -> None:
    has_perm = Staff.has_perm
    monkeypatch.setattr(
        Staff, "has_perm", lambda self, name, obj=None: "download" not in name and has_perm(self, name, obj)
    )
    pack = export(document.user)
    assert not [name for name in pack if name.startswith("documents/")]
    [record] = json.loads(pack["data.json"])["documents"]
    assert (record["file"], record["sha256"]) == (None, bytes(document.sha256).hex())


def test_the_program_has_at_most_200_lines_and_needs_cryptography_only() -> None:
    text = VERIFY.read_text()
    assert len(text.splitlines()) <= 200
    imported = set(re.findall(r"^(?:import|from) (\w+)", text, re.MULTILINE))
    assert imported - sys.stdlib_module_names == {"cryptography"}
    assert Client().get("/docs/verify.py").content == VERIFY.read_bytes()
