"""Verifies an evidence pack: python3 verify.py PACK.zip PUBLIC_KEY.pem (needs `pip install cryptography`).

PUBLIC_KEY.pem is what the service shows at /docs/keys. Take it from there, and this program from /docs/verify.py: who
alters a pack can alter the files in it. Exit status: 0 if every part is as the service signed it, and the archive is of
the form that the service writes, so that every program extracts the same; 1 if not, or without a key in the key's file;
2 if no public key was given and the parts match the manifest: anybody may have made such a pack.
"""

import base64
import hashlib
import json
import re
import stat
import struct
import sys
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import load_pem_public_key

MANIFEST, SIGNATURE = "manifest.json", "manifest.sig"
# Read whole; everything else 64 KiB at a time, and only once the signature of the manifest was found right.
MAX_BYTES = {MANIFEST: 8 * 1024 * 1024, SIGNATURE: 1024}
MAX_DIRECTORY_BYTES = 8 * 1024 * 1024
CHUNK = 65536
# Neither absolute nor hidden, no `..`, blank, backslash or control character, nor an end that Windows would leave out.
PLAIN_NAME = re.compile(r"(?:[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?/)*[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?")
# An entry whose sizes follow its data, as the service writes it, has this flag, size in the header and extra field.
STREAMED, UNKNOWN, ZIP64 = 8, 0xFFFFFFFF, struct.pack("<HHQQ", 1, 16, 0, 0)
HEADER, DESCRIPTOR, END = struct.Struct("<4s5H3L2H"), struct.Struct("<4sLQQ"), struct.Struct("<4s4H2LH")


class NotVerifiedError(Exception):
    """The pack is not as the service made it. Its text has nothing that the pack's maker wrote but plain names."""


def require(condition: object, text: str) -> None:
    """Raise NotVerifiedError with this text unless the condition holds."""
    if not condition:
        raise NotVerifiedError(text)


def entries_of(file: BinaryIO) -> dict[str, tuple[zipfile.ZipInfo, int]]:
    """Return the entries by name, each with where its data begins: they are all that is in the file, in order."""
    size = file.seek(0, 2)
    file.seek(max(size - 42, 0))
    tail = file.read()
    require(len(tail) >= END.size, "This is not a ZIP archive, or its end is missing.")
    mark, *_, directory_bytes, directory_at, comment = END.unpack(tail[-END.size :])
    require(mark == b"PK\5\6" and not comment, "This is not a ZIP archive, or something follows its end.")
    require(not tail.startswith(b"PK\6\7") and directory_bytes <= MAX_DIRECTORY_BYTES, "The directory is too large.")
    require(directory_at + directory_bytes + END.size == size, "The archive has bytes that belong to no part.")
    entries: dict[str, tuple[zipfile.ZipInfo, int]] = {}
    offset, listed_bytes = 0, 0
    for info in zipfile.ZipFile(file).infolist():
        name, kind = info.orig_filename, info.external_attr >> 16 & ~0o777
        require(PLAIN_NAME.fullmatch(name), "A name is not a plain one.")
        require(name.lower() not in {one.lower() for one in entries}, "Two parts have the same name.")
        require(kind in {0, stat.S_IFREG} and not info.external_attr & 0x10, f"{name} is not a file.")
        field = info.extra[:2] == b"\1\0" and len(info.extra) == 4 + int.from_bytes(info.extra[2:4], "little")
        require(not info.comment and (not info.extra or field), f"{name} has an extra field or a comment.")
        listed_bytes += 46 + len(name) + len(info.extra)
        is_streamed = info.flag_bits == STREAMED and info.compress_type == zipfile.ZIP_DEFLATED
        is_sized = info.flag_bits == 0 and info.compress_type in {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED}
        require(is_streamed or is_sized, f"{name} is not written as the service does.")
        sizes = (0, UNKNOWN, UNKNOWN) if is_streamed else (info.CRC, info.compress_size, info.file_size)
        extra = ZIP64 if is_streamed else b""
        file.seek(offset)
        header = HEADER.unpack(file.read(HEADER.size).ljust(HEADER.size, b"\0"))
        fits = (info.header_offset, header[0], *header[2:4], *header[6:]) == (
            *(offset, b"PK\3\4", info.flag_bits, info.compress_type, *sizes, len(name), len(extra)),
        )
        require(fits and file.read(len(name) + len(extra)) == name.encode() + extra, f"The header of {name} differs.")
        entries[name] = info, file.tell()
        offset = file.seek(info.compress_size, 1)
        if is_streamed:
            descriptor = DESCRIPTOR.pack(b"PK\7\x08", info.CRC, info.compress_size, info.file_size)
            require(file.read(len(descriptor)) == descriptor, f"The sizes of {name} differ.")
            offset += len(descriptor)
    end = END.pack(b"PK\5\6", 0, 0, len(entries), len(entries), listed_bytes, offset, 0)
    require(tail[-END.size :] == end, "The archive has bytes that belong to no part.")
    return entries


def chunks_of(file: BinaryIO, info: zipfile.ZipInfo, data_at: int) -> Iterator[bytes]:
    """Yield a part's content in chunks: as much as the directory says, all that extracts, and never more."""
    file.seek(data_at)
    inflate = zlib.decompressobj(-15) if info.compress_type == zipfile.ZIP_DEFLATED else None
    packed_left, left, crc, packed = info.compress_size, info.file_size, 0, b""
    while not (inflate and inflate.eof):
        if not packed and packed_left:
            packed = file.read(min(CHUNK, packed_left))
            require(packed, "The archive ends before its end.")
            packed_left -= len(packed)
        chunk, packed = (inflate.decompress(packed, CHUNK), inflate.unconsumed_tail) if inflate else (packed, b"")
        left, crc = left - len(chunk), zlib.crc32(chunk, crc)
        require(left >= 0, "A part is larger than the archive says.")
        if not chunk and not packed and not packed_left:
            break
        yield chunk
    is_whole = not inflate or (inflate.eof and not inflate.unused_data)
    require(is_whole and left == packed_left == 0 and crc == info.CRC, "A part is not whole.")


def read(file: BinaryIO, entries: dict[str, tuple[zipfile.ZipInfo, int]], name: str) -> bytes:
    """Return the content of the manifest or its signature."""
    require(name in entries, "The pack is not signed." if name == SIGNATURE else "The manifest is missing.")
    require(entries[name][0].file_size <= MAX_BYTES[name], f"{name} is too large.")
    return b"".join(chunks_of(file, *entries[name]))


def verify(file: BinaryIO, public_key: Ed25519PublicKey | None) -> tuple[str, str, int]:
    """Return users, time and number of parts of a pack. Raises NotVerifiedError, or others for a damaged archive."""
    entries = entries_of(file)
    manifest = read(file, entries, MANIFEST)
    if public_key is not None:
        try:
            public_key.verify(base64.b64decode(read(file, entries, SIGNATURE), validate=True), manifest)
        except (InvalidSignature, ValueError):
            text = "The signature does not fit: another key signed, or the manifest was altered."
            raise NotVerifiedError(text) from None
    content = json.loads(manifest)
    users, time, parts = content.get("userIds") or [content["userId"]], content["exportedAt"], content["parts"]
    # Printed below.
    is_plain = all(re.fullmatch(r"[0-9a-f-]{36}", user) for user in users) and re.fullmatch(r"[0-9T:.Z+-]{10,40}", time)
    require(is_plain, "The manifest is not one of the service.")
    listed = {part["name"]: (part["bytes"], part["sha256"]) for part in parts}
    present = entries.keys() - {MANIFEST, SIGNATURE}
    require(present <= listed.keys(), f"Added or removed: {', '.join(sorted(present - listed.keys())[:10])}.")
    require(present == listed.keys() and len(listed) == len(parts), "Added or removed: a part of the manifest.")
    for name, (size, expected) in listed.items():
        require(entries[name][0].file_size == size, f"Altered: {name}.")
        digest = hashlib.sha256()
        for chunk in chunks_of(file, *entries[name]):
            digest.update(chunk)
        require(digest.hexdigest() == expected, f"Altered: {name}.")
    return f"User {users[0]}" if len(users) == 1 else f"{len(users)} users", time, len(parts)


def public_key_of(path: str) -> Ed25519PublicKey:
    """Return the service's public key. Raises NotVerifiedError."""
    try:
        with Path(path).open("rb") as file:
            content = file.read(CHUNK)
    except OSError:
        raise NotVerifiedError("The public key's file cannot be read. Save it from the service's /docs/keys.") from None
    require(b"not signed" not in content, "The service had no key when this file was saved: it signed no packs.")
    key: Any = None
    with suppress(Exception):
        key = load_pem_public_key(content)
    if not isinstance(key, Ed25519PublicKey):
        raise NotVerifiedError("This is no public key of the service. Save it from its /docs/keys.")
    return key


def main(arguments: list[str]) -> int | str | None:
    """Return the exit status, or what is wrong."""
    if len(arguments) not in {1, 2}:
        return __doc__
    try:
        key = public_key_of(arguments[1]) if arguments[1:] else None
    except NotVerifiedError as error:
        return f"NOT VERIFIED: {error}"
    try:
        with Path(arguments[0]).open("rb") as file:
            users, time, count = verify(file, key)
    except NotVerifiedError as error:
        return f"REFUSED: {error}"
    except OSError:
        return "REFUSED: The pack's file cannot be read."
    except Exception as error:  # noqa: BLE001 - whatever fails, the pack is not verified
        return f"REFUSED: The archive or its manifest is damaged ({type(error).__name__})."
    print(f"{users}, exported at {time}: {count} parts are unchanged.")
    print("The signature is the service's." if key else "NOT VERIFIED: no public key was given.")
    return 0 if key else 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
