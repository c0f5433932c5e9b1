"""The archive of an evidence pack or of a person's copy: a ZIP that openssl and sha256sum verify.

README.txt says how. SHA256SUMS has the SHA-256 of each file, and is signed under EVIDENCE_SIGNING_KEY if that is set.
"""

import hashlib
import os
import tempfile
import zipfile
from collections.abc import Generator, Iterable, Iterator, Mapping
from itertools import chain
from typing import IO, Any

from django.conf import settings
from django.db.models import QuerySet
from django.utils.translation import gettext as _

from backoffice.exports.downloads import CHUNK_BYTES
from core import encryption as keys
from transactions.documents.downloads import DocumentError, file_chunks
from transactions.documents.file_types import EXTENSIONS, UNKNOWN
from transactions.models import Document

# All documents in one archive have at most so many bytes: within EXPORT_SECONDS, 0.6 MB a second.
MAX_FILES_BYTES = 512 * 1024 * 1024
TOO_LARGE = "too large"
File = tuple[str, Iterable[bytes]]


def archive(files: Iterable[File], about: str) -> Generator[bytes, None, None]:
    """Generate a ZIP of these files, in this order, and of what verifies them. about: the head of README.txt.

    An empty chunk: nothing to send yet. A header has the entry's sizes, so each goes through a nameless file.
    """
    sums = dict[str, str]()
    sent = 0
    with tempfile.TemporaryFile() as file:
        with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as packed:
            for name, chunks in chain(files, _verification(sums, about)):
                digest = hashlib.sha256()
                # The size is not known in advance, and may need more than 32 bits.
                with packed.open(name, "w", force_zip64=True) as entry:
                    for chunk in chunks:
                        digest.update(chunk)
                        entry.write(chunk)
                        yield b""
                sums[name] = digest.hexdigest()
                sent = yield from _unsent(file, sent)
        yield from _unsent(file, sent)


def _unsent(file: IO[bytes], sent: int) -> Generator[bytes, None, int]:
    file.flush()
    while chunk := os.pread(file.fileno(), CHUNK_BYTES, sent):
        yield chunk
        sent += len(chunk)
    return sent


def _verification(sums: Mapping[str, str], about: str) -> Iterator[File]:
    """Yield what verifies the archive, at its end: each is made when those before it have their sum."""
    key = settings.EVIDENCE_SIGNING_KEY
    lines = [
        about,
        "",
        _("SHA256SUMS has the SHA-256 of each file. A file that it does not list is not the service's."),
    ]
    commands = ["sha256sum -c SHA256SUMS"]
    if key is None:
        lines.append(_("Unsigned: nothing proves that this service made the pack."))
    else:
        text = _(
            "SHA256SUMS is signed (Ed25519). public-key.pem is only as genuine as this archive: compare it with the one"
            " at the service's address /docs/keys, where its SHA-256 is %(fingerprint)s."
        )
        lines.append(text % {"fingerprint": keys.fingerprint(key.public_key())})
        commands.append(
            "openssl pkeyutl -verify -pubin -inkey public-key.pem -rawin -in SHA256SUMS -sigfile SHA256SUMS.sig"
        )
        yield "public-key.pem", (keys.pem(key.public_key()).encode(),)
    lines += [_("To verify, extract all files into an empty folder and run in it (OpenSSL 3):"), "", *commands, ""]
    yield "README.txt", ("\n".join(lines).encode(),)
    listed = "".join(f"{digest}  {name}\n" for name, digest in sums.items()).encode()
    yield "SHA256SUMS", (listed,)
    if key is not None:
        yield "SHA256SUMS.sig", (key.sign(listed),)


class Attachments:
    """The documents' files in an archive.

    of_documents: by the document's id, what its record has in the archive: `file`, the name in the user's folder, and
    `fileFault`, why it is not there or not whole.
    """

    def __init__(self, request_id: str) -> None:
        self.request_id = request_id
        self.left = MAX_FILES_BYTES
        self.of_documents = dict[str, dict[str, Any]]()

    def files(self, documents: QuerySet[Document]) -> Iterator[File]:
        """Yield the files, the newest first. One that cannot be read is left out; one that fails later ends there."""
        for document in documents.order_by("-created_at", "-tiebreak").iterator():
            record: dict[str, Any] = {"file": None, "fileFault": None}
            self.of_documents[str(document.document_id)] = record
            if document.size_bytes > self.left:
                record["fileFault"] = TOO_LARGE
                continue
            self.left -= document.size_bytes
            try:
                chunks = file_chunks(document, request_id=self.request_id)
            except DocumentError as error:
                record["fileFault"] = error.problem.value
                continue
            name = f"documents/{document.document_id}{EXTENSIONS.get(document.content_type, EXTENSIONS[UNKNOWN])}"
            record["file"] = name
            yield name, _until_fault(chunks, record)


def _until_fault(chunks: Iterator[bytes], record: dict[str, Any]) -> Iterator[bytes]:
    try:
        yield from chunks
    except DocumentError as error:
        record["fileFault"] = error.problem.value
