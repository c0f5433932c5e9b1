"""The manifest of an evidence pack, of one user or several: the SHA-256 of each part.

It is signed under EVIDENCE_SIGNING_KEY if that is set.
"""

import base64
import hashlib
from collections.abc import Iterable, Iterator, Sequence
from typing import Any
from uuid import UUID

import orjson
from django.db import connection

from backoffice.sections.sections import AttachedFile, Section, UnreadableFileError
from partners.evidence import VERIFY
from partners.evidence.keys import key_id, signing_key
from users.models import AccessRecord, User

FORMAT = "psi-evidence-1"
# All documents in one pack have at most so many bytes: within EXPORT_SECONDS, 0.6 MB a second.
MAX_FILES_BYTES = 512 * 1024 * 1024
TOO_LARGE = "too large"
NO_FILE = {"file": None, "fileFault": None}
File = tuple[str, Iterator[bytes]]


class Manifest:
    """Hashes the parts while they are sent.

    attached: by the id of the row to which a file belongs, what its record has in the pack: `file`, the name in the
    user's folder, and `fileFault`, why it is not there or not whole.
    """

    def __init__(self, access: AccessRecord, users: Sequence[UUID], *, is_for_person: bool = False) -> None:
        """users: whose records are in the pack. is_for_person: names no staff, and has the files whatever the exporter
        may download.
        """
        self._access, self._users, self._is_for_person = access, users, is_for_person
        self._folder = ""
        self._left = MAX_FILES_BYTES
        self._parts = list[dict[str, Any]]()
        self._problems = list[dict[str, str]]()
        self._key = signing_key()
        self.attached = dict[str, dict[str, Any]]()

    @property
    def key_id(self) -> str:
        """The id of the key that signs; empty if the pack is unsigned."""
        return key_id(self._key.public_key()) if self._key else ""

    def enter(self, folder: str) -> None:
        """Add the following parts to a folder, which ends with a slash; empty: none."""
        self._folder, self.attached = folder, {}

    def part(self, name: str, chunks: Iterable[bytes]) -> File:
        """Return a part, whose hash is in the manifest once its chunks have been read."""
        name = self._folder + name
        return name, self._hashed(name, chunks)

    def _hashed(self, name: str, chunks: Iterable[bytes]) -> Iterator[bytes]:
        digest, size = hashlib.sha256(), 0
        for chunk in chunks:
            digest.update(chunk)
            size += len(chunk)
            yield chunk
        self._parts.append({"name": name, "bytes": size, "sha256": digest.hexdigest()})

    def files_of(self, section: Section, user: User) -> Iterator[File]:
        """Yield the files of a section, if the exporter may download them.

        A file that cannot be read is left out; one that fails later ends there. Both are problems in the manifest.
        """
        if section.files is None:
            return
        if not self._is_for_person and not self._access.staff.has_perm(section.files_permission):
            return
        for file in section.files(user, self._access.request_id):
            if file.size_bytes > self._left:
                self._add_fault(file, None, TOO_LARGE)
                continue
            self._left -= file.size_bytes
            chunks = file.chunks()
            try:
                first = next(chunks)
            except UnreadableFileError as error:
                self._add_fault(file, None, error.code)
                continue
            self.attached[file.row_id] = {"file": file.name, "fileFault": None}
            yield self.part(file.name, self._whole(file, first, chunks))

    def _whole(self, file: AttachedFile, first: bytes, chunks: Iterator[bytes]) -> Iterator[bytes]:
        try:
            yield first
            for chunk in chunks:
                _keep_snapshot()
                yield chunk
        except UnreadableFileError as error:
            self._add_fault(file, file.name, error.code)

    def _add_fault(self, file: AttachedFile, name: str | None, code: str) -> None:
        self.attached[file.row_id] = {"file": name, "fileFault": code}
        self._problems.append({"name": self._folder + file.name, "fault": code})

    def files(self) -> Iterator[File]:
        """Yield what verifies the pack, the manifest and, if there is a key, its signature: the last of the pack."""
        self.enter("")
        yield self.part(VERIFY.name, (VERIFY.read_bytes(),))
        first, *others = map(str, self._users)
        exporter = {"exportedBy": self._access.staff.get_username(), "requestId": self._access.request_id}
        about = {
            "format": FORMAT,
            **({"userId": first} if not others else {"userIds": [first, *others]}),
            "exportedAt": self._access.created_at,
            **({} if self._is_for_person else exporter),
            "signedBy": {"algorithm": "Ed25519", "keyId": self.key_id} if self._key else None,
            "parts": self._parts,
            # Files that are missing, or end before their end.
            "faults": self._problems,
        }
        content = orjson.dumps(about, option=orjson.OPT_INDENT_2 | orjson.OPT_UTC_Z)
        yield "manifest.json", iter((content,))
        if self._key:
            yield "manifest.sig", iter((base64.b64encode(self._key.sign(content)),))


def _keep_snapshot() -> None:
    """Use the transaction, which the database would end as idle while a large file is sent."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")
