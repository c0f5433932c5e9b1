import unicodedata
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

from django.core.exceptions import ValidationError

from core.formats.json_rules import choice, text
from core.management.base import Outcome
from core.refusals import RefusedError
from partners.models import Partner
from transactions.documents.file_types import content_type_of
from transactions.documents.publishing import StorageError, UnreadableError, digest_of, publish
from transactions.imports import (
    UNKNOWN_PARTNER,
    UNKNOWN_USER,
    LineError,
    created_at_of,
    external_id_of,
    json_rule,
    parse_record,
    slug_of,
)
from transactions.management import REJECTS, LinesCommand, lines_file
from transactions.models import TITLE_LENGTH, Document, DocumentType
from users.models import User

NAME_LENGTH = 1000


class Command(LinesCommand):
    help = (
        "Publish many documents: NDJSON, one a line, of partner, externalId, file, type, title and, if it was not"
        " issued now, createdAt. The files are beside the manifest. Exit status 1 if any line was rejected or the run"
        " could not be finished."
    )

    arguments = (lines_file("MANIFEST"), REJECTS)
    done = "published"

    def perform(self, *, file: str, **options: Any) -> Outcome:
        self.folder = Path(file).parent.resolve()
        return super().perform(file=file, **options)

    def store(self, lines: Sequence[tuple[int, bytes]]) -> tuple[int, dict[int, str]]:
        [(number, line)] = lines
        try:
            is_new = _publish(self.folder, parse_record(line, _RULES, optional={"createdAt"}))
        except StorageError:
            # It would refuse each line.
            raise
        except ValidationError as error:
            return 0, {number: " ".join(error.messages)}
        except UnreadableError as error:
            return 0, {number: f"file {error}"}
        except (LineError, RefusedError) as error:
            return 0, {number: str(error)}
        return int(is_new), {}


def _publish(folder: Path, record: Mapping[str, Any]) -> bool:
    """Whether the document was not there before; one that was withdrawn since does not come back."""
    user, content_type = _user(record["partner"], record["externalId"]), content_type_of(record["file"])
    kind, title = record["type"], record["title"]
    with _open(folder, record["file"]) as source:
        digest = digest_of(source, content_type)
        if Document.objects.filter(user=user, type=kind, title=title, sha256=digest).exists():
            return False
        source.seek(0)
        publish(
            user=user,
            source=source,
            kind=kind,
            title=title,
            content_type=content_type,
            created_at=record.get("createdAt"),
        )
    return True


def _open(folder: Path, name: str) -> BinaryIO:
    # The same name may be written in two ways: é as one character, or as e with an accent, as macOS stores it.
    for form in (name, unicodedata.normalize("NFC", name), unicodedata.normalize("NFD", name)):
        path = (folder / form).resolve()
        # A manifest made elsewhere must not publish any other file of this machine.
        if not path.is_relative_to(folder):
            raise LineError("must be below the folder of the manifest", "file")
        try:
            if path.is_file():
                return path.open("rb")
        except OSError as error:
            raise LineError(error.strerror or "not found", "file") from None
    raise LineError("not found", "file")


def _user(slug: str, external_id: str) -> User:
    user = User.objects.filter(partner__slug=slug, external_id=external_id).first()
    if user is None:
        raise LineError(UNKNOWN_USER if Partner.objects.filter(slug=slug).exists() else UNKNOWN_PARTNER)
    return user


def _file(value: Any) -> str:
    if not isinstance(value, str) or not 1 <= len(value) <= NAME_LENGTH or not value.isprintable():
        raise LineError("must be the path of a file below the folder of the manifest", "file")
    return value


_RULES = {
    "partner": slug_of,
    "externalId": external_id_of,
    "file": _file,
    "type": json_rule("type", partial(choice, among=DocumentType)),
    "title": json_rule("title", partial(text, shortest=1, longest=TITLE_LENGTH)),
    "createdAt": created_at_of,
}
