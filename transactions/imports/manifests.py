"""Publishes the documents of a manifest: NDJSON, one document a line (docs/operations.md).

A line whose document is there already is unchanged, so that a killed run is simply run again.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

from django.core.exceptions import ValidationError

from partners.json_rules import text
from partners.models import Partner
from partners.refusals import RefusedError
from transactions.documents.file_types import content_type_of
from transactions.documents.publishing import UnreadableError, digest_of, publish
from transactions.imports.importer import REASON, Rejected
from transactions.imports.lines import (
    LineProblem,
    RejectedLineError,
    Rule,
    created_at_of,
    external_id_of,
    parse_record,
    slug_of,
)
from transactions.imports.staging import UNKNOWN_PARTNER, UNKNOWN_USER, Counts, record_progress
from transactions.models import TITLE_LENGTH, Document, DocumentType
from transactions.timestamps import parse_created_at
from users.models import User

OTHER_CONTENT = "a document of this user, type, title and createdAt with other content exists"
NAME_LENGTH = 1000


@dataclass
class ManifestImporter:
    """Publishes line by line, each in a transaction of its own.

    folder: where the files are; resolved. run_id: of the ImportRun; None for a rehearsal, which publishes nothing.
    """

    folder: Path
    run_id: int | None
    counts: Counts = field(default_factory=Counts)
    bytes_read: int = 0
    line: int = 0
    # What a rehearsal would have published: the SHA-256 by what tells documents apart.
    _rehearsed: dict[tuple[Any, ...], set[bytes]] = field(default_factory=dict)

    def run(self, lines: Iterable[tuple[int, bytes] | None]) -> Iterator[Rejected]:
        """Publish numbered lines, yielding the rejected ones.

        Raises StorageError and Django's database errors; documents published before stay published.
        """
        for numbered in lines:
            if numbered is None or numbered[1].startswith(REASON):
                continue
            number, line = numbered
            counts = Counts()
            try:
                if self._publish(parse_record(line, _RULES)):
                    counts.imported = 1
                else:
                    counts.unchanged = 1
            except RejectedLineError as error:
                counts.rejected = 1
                yield Rejected(number, line, str(error))
            self._count(number, counts)

    def _publish(self, record: Mapping[str, Any]) -> bool:
        """Whether the document was not there before."""
        user = _user(record["partner"], record["externalId"])
        kind, created_at = DocumentType(record["type"]), parse_created_at(record["createdAt"])
        content_type = content_type_of(record["file"])
        try:
            with self._open(record["file"]) as source:
                digest = digest_of(source, content_type)
                same = {"user": user, "type": kind, "title": record["title"], "created_at": created_at}
                if self._is_there(same, digest):
                    return False
                if self.run_id is None:
                    self._rehearsed.setdefault(tuple(same.values()), set()).add(digest)
                    return True
                source.seek(0)
                publish(
                    user=user,
                    source=source,
                    kind=kind,
                    title=record["title"],
                    content_type=content_type,
                    created_at=created_at,
                )
        except ValidationError as error:
            raise RejectedLineError(" ".join(error.messages)) from None
        except RefusedError as error:
            raise RejectedLineError(str(error)) from None
        except UnreadableError as error:
            raise RejectedLineError(f"file {error}") from None
        return True

    def _open(self, name: str) -> BinaryIO:
        path = (self.folder / name).resolve()
        # A manifest made elsewhere must not publish any other file of this machine.
        if not path.is_relative_to(self.folder):
            raise RejectedLineError("file must be below the folder of the files")
        try:
            if not path.is_file():
                raise RejectedLineError("file not found")
            return path.open("rb")
        except (OSError, ValueError) as error:
            raise RejectedLineError(f"file {getattr(error, 'strerror', None) or 'not found'}") from None

    def _is_there(self, same: Mapping[str, Any], digest: bytes) -> bool:
        """Whether it was published, or withdrawn since. Raises RejectedLineError for another in its place."""
        found = list(Document.objects.filter(**same).values_list("sha256", "withdrawal"))
        rehearsed = self._rehearsed.get(tuple(same.values()), set())
        if digest in rehearsed or any(bytes(sha256) == digest for sha256, _ in found):
            return True
        if rehearsed or any(withdrawal is None for _, withdrawal in found):
            raise RejectedLineError(OTHER_CONTENT)
        return False

    def _count(self, number: int, counts: Counts) -> None:
        self.line = number
        self.counts.imported += counts.imported
        self.counts.unchanged += counts.unchanged
        self.counts.rejected += counts.rejected
        if self.run_id is not None:
            record_progress(self.run_id, number, self.bytes_read, counts)


def _user(slug: str, external_id: str) -> User:
    user = User.objects.filter(partner__slug=slug, external_id=external_id).first()
    if user is None:
        known = Partner.objects.filter(slug=slug).exists()
        raise RejectedLineError(UNKNOWN_USER if known else UNKNOWN_PARTNER)
    return user


def _file(value: Any) -> str:
    if not isinstance(value, str) or not 1 <= len(value) <= NAME_LENGTH or "\0" in value:
        raise LineProblem("must be the path of a file below the folder of the files", "file")
    return value


def _type(value: Any) -> str:
    if value not in DocumentType.values:
        raise LineProblem(f"must be one of: {', '.join(DocumentType.values)}", "type", "notAllowed")
    return str(value)


def _title(value: Any) -> str:
    try:
        return text(value, shortest=1, longest=TITLE_LENGTH)
    except ValidationError as error:
        raise LineProblem(f"title: {error.message}") from None


_RULES: Mapping[str, Rule] = {
    "partner": slug_of,
    "externalId": external_id_of,
    "file": _file,
    "type": _type,
    "title": _title,
    "createdAt": lambda value: created_at_of(value).isoformat(),
}
