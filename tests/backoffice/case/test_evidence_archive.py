"""verify.py: an archive that it passes extracts to the signed parts, whatever program extracts it."""

import io
import json
import struct
import subprocess
import sys
import zipfile
import zlib
from base64 import b64encode
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from backoffice.exports.downloads import zipped
from partners.evidence import VERIFY
from partners.evidence.verify import main

KEY = Ed25519PrivateKey.generate()
PEM = KEY.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
PARTS = {"documents/1.pdf": b"%PDF-1.7 %%EOF", "index.html": b"<p>" * 100_000, "data.json": b"{}"}
ZIP64_EXTRA = struct.pack("<HHQQ", 1, 16, 0, 0)
SYMBOLIC_LINK = 0o120777 << 16


def signed(parts: dict[str, bytes] = PARTS, user: str = "9ba57a43-29f9-4a75-9d26-0a6a2ba9b0b0") -> dict[str, bytes]:
    """The parts with their manifest and its signature."""
    listed = [
        {"name": name, "bytes": len(content), "sha256": sha256(content).hexdigest()} for name, content in parts.items()
    ]
    manifest = json.dumps({"userId": user, "exportedAt": "2026-11-25T12:00:00Z", "parts": listed}).encode()
    return parts | {"manifest.json": manifest, "manifest.sig": b64encode(KEY.sign(manifest))}


def streamed(pack: dict[str, bytes]) -> bytes:
    """The archive as the service sends it."""
    return b"".join(zipped((name, iter((content,))) for name, content in pack.items()))


def written(pack: dict[str, bytes], change: Callable[[zipfile.ZipInfo], None] = lambda _: None) -> bytes:
    """The archive as another program writes it; change: of the headers of index.html."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in pack.items():
            info = zipfile.ZipInfo(name)
            info.compress_type = zipfile.ZIP_DEFLATED
            if name == "index.html":
                change(info)
            archive.writestr(info, content)
    return buffer.getvalue()


@pytest.fixture
def verdict(tmp_path: Path) -> Callable[..., int | str | None]:
    """Verify an archive with a key's file; returns the exit status, or what the program says with status 1."""

    def run(archive: bytes, key: bytes | None = PEM) -> int | str | None:
        (tmp_path / "pack.zip").write_bytes(archive)
        (tmp_path / "keys").write_bytes(key or b"")
        return main([str(tmp_path / "pack.zip"), *([] if key is None else [str(tmp_path / "keys")])])

    return run


Verdict = Callable[..., int | str | None]


@pytest.mark.parametrize("archive", [streamed(signed()), written(signed())], ids=["of the service", "written again"])
def test_a_pack_as_it_was_signed_is_verified(archive: bytes, verdict: Verdict) -> None:
    assert verdict(archive) == 0
    assert verdict(archive, None) == 2


def test_entries_say_that_their_sizes_have_64_bits() -> None:
    archive = streamed(signed())
    signature, version = struct.unpack("<4sH", archive[:6])
    sizes = struct.unpack("<II", archive[18:26])
    assert (signature, version, *sizes) == (b"PK\x03\x04", 45, 0xFFFFFFFF, 0xFFFFFFFF)
    assert {info.extract_version for info in zipfile.ZipFile(io.BytesIO(archive)).infolist()} == {45}


def with_field(identifier: int, value: bytes) -> Callable[[zipfile.ZipInfo], None]:
    def change(info: zipfile.ZipInfo) -> None:
        info.extra = struct.pack("<HH", identifier, len(value)) + value

    return change


def between(pack: dict[str, bytes]) -> bytes:
    """A second index.html between two entries, which the directory does not list."""
    hidden = written({"index.html": b"Another page."})
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in pack.items():
            archive.writestr(name, content)
            assert archive.fp is not None
            archive.fp.write(hidden)
            archive.start_dir += len(hidden)
    return buffer.getvalue()


def comment_of_archive(archive: bytes, comment: bytes) -> bytes:
    return archive[:-2] + struct.pack("<H", len(comment)) + comment


def set_attribute(name: str, value: object) -> Callable[[zipfile.ZipInfo], None]:
    return lambda info: setattr(info, name, value)


UNICODE_PATH = struct.pack("<BL", 1, zlib.crc32(b"index.html")) + b"elsewhere.html"
ARCHIVES = {
    "bytes before the first entry": b"#!/bin/sh\n" + streamed(signed()),
    "an archive before the archive": written({"index.html": b"Another page."}) + streamed(signed()),
    "bytes after the end": streamed(signed()) + b"more",
    "a comment": comment_of_archive(streamed(signed()), b"A comment."),
    "an archive in the comment": comment_of_archive(streamed(signed()), written({"index.html": b"Another page."})),
    "an entry that is not listed": between(signed()),
    "another name in an extra field": written(signed(), with_field(0x7075, UNICODE_PATH)),
    "a time in an extra field": written(signed(), with_field(0x5455, b"\3" + b"\0" * 8)),
    "a comment of an entry": written(signed(), set_attribute("comment", b"A comment.")),
    "a symbolic link": written(signed(), set_attribute("external_attr", SYMBOLIC_LINK)),
    "a directory": written(signed(), set_attribute("external_attr", 0x10)),
    "another name in the header": streamed(signed()).replace(b"index.html", b"other.html", 1),
    "another size after the data": streamed(signed()).replace(
        struct.pack("<QQ", len(zlib.compress(b"{}")[2:-4]), 2), struct.pack("<QQ", 4, 3), 1
    ),
    "a size in a header without one": streamed(signed()).replace(ZIP64_EXTRA, ZIP64_EXTRA[:-1] + b"\1", 1),
    "one byte less": streamed(signed())[:-1],
    "no archive": b"not one",
    "nothing": b"",
}


@pytest.mark.parametrize("archive", ARCHIVES.values(), ids=ARCHIVES)
def test_an_archive_of_another_form_is_refused_though_its_parts_are_signed(archive: bytes, verdict: Verdict) -> None:
    for key in (PEM, None):
        assert str(verdict(archive, key)).startswith("REFUSED: ")


@pytest.mark.parametrize(
    "name",
    [
        *("/etc/passwd", "../index.html", "documents/../../x", "a\\b", "C:x", "a\x1b[2Jb", "a\nb", "a\tb", ".profile"),
        *("documents/", "index.html ", "index.html.", "INDEX.html", "é.pdf", "a//b", "a\u202eb", "-rf", ""),
    ],
)
def test_a_name_that_is_not_plain_is_refused_signed_or_not(name: str, verdict: Verdict) -> None:
    pack = signed(PARTS | {name: b"x"})
    for key in (PEM, None):
        text = str(verdict(written(pack), key))
        assert text.startswith("REFUSED: ")
        assert text.isprintable()
        assert text.isascii()


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_two_parts_of_one_name_are_refused(verdict: Verdict) -> None:
    buffer = io.BytesIO(written(signed()))
    with zipfile.ZipFile(buffer, "a") as archive:
        archive.writestr("index.html", b"Another page.")
    assert "same name" in str(verdict(buffer.getvalue()))


@pytest.mark.parametrize(
    "user", ["\x1b[2J", "1: 4 parts are unchanged.\nThe signature is the service's.", "x" * 5000, None, []]
)
def test_nothing_that_an_unsigned_archive_says_is_printed(
    user: str, verdict: Verdict, capsys: pytest.CaptureFixture[str]
) -> None:
    assert str(verdict(written(signed(user=user)), None)).startswith("REFUSED: ")
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("manifest", [b"", b"\xff", b"[" * 100_000, b"[]", b'{"parts": 1}', b"\x1b[2J"])
def test_a_damaged_manifest_is_refused_in_one_printable_line(manifest: bytes, verdict: Verdict) -> None:
    for key in (PEM, None):
        pack = PARTS | {"manifest.json": manifest, "manifest.sig": b64encode(KEY.sign(manifest))}
        text = str(verdict(written(pack), key))
        assert text.startswith("REFUSED: ")
        assert text.isprintable()


# Python and the library take 100 MiB of these 256.
LIMITED = """
import resource, runpy, sys
resource.setrlimit(resource.RLIMIT_AS, (256 << 20, 256 << 20))
sys.argv = sys.argv[1:]
runpy.run_path("verify.py", run_name="__main__")
"""


def bomb(name: str, size: int, *, declared: int | None = None) -> bytes:
    """A signed pack with a part of so many zeros, which is about a thousandth in the archive."""
    parts = PARTS | {name: b"x"}
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for one, content in signed(parts).items():
            if one != name:
                archive.writestr(one, content)
        with archive.open(name, "w") as entry:
            for _ in range(size >> 20):
                entry.write(bytes(1 << 20))
    content = buffer.getvalue()
    if declared is not None:
        # In the header and in the directory.
        content = content.replace(struct.pack("<L", size), struct.pack("<L", declared))
    return content


@pytest.mark.parametrize(
    ("name", "declared"),
    [
        *(("manifest.json", None), ("manifest.json", 1000), ("manifest.sig", 88)),
        *(("zeros.bin", None), ("zeros.bin", 1)),
    ],
)
def test_an_archive_that_inflates_a_thousand_times_needs_no_memory(
    name: str, declared: int | None, tmp_path: Path
) -> None:
    archive = bomb(name, 320 << 20, declared=declared)
    for file, content in {"pack.zip": archive, "keys": PEM, "verify.py": VERIFY.read_bytes()}.items():
        (tmp_path / file).write_bytes(content)
    for key in (["keys"], []):
        command = [sys.executable, "-I", "-c", LIMITED, "verify.py", "pack.zip", *key]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == 1
        assert done.stderr.startswith("REFUSED: ")
        assert "damaged" not in done.stderr


OTHER_KEY = rsa.generate_private_key(public_exponent=65537, key_size=2048).public_key()


@pytest.mark.parametrize(
    ("key", "text"),
    [
        (b"# Evidence packs of this service are not signed.\n", "signed no packs"),
        (b"", "no public key of the service"),
        (b"<html>Not found</html>", "no public key of the service"),
        (b"-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n", "no public key of the service"),
        (OTHER_KEY.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo), "no public key of the service"),
    ],
)
def test_a_file_without_a_key_of_the_service_is_named_as_such(key: bytes, text: str, verdict: Verdict) -> None:
    said = str(verdict(streamed(signed()), key))
    assert said.startswith("NOT VERIFIED: ")
    assert text in said


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "pack.zip").write_bytes(streamed(signed()))
    assert "public key's file cannot be read" in str(main([str(tmp_path / "pack.zip"), str(tmp_path / "keys")]))
    assert "pack's file cannot be read" in str(main([str(tmp_path / "none.zip")]))
