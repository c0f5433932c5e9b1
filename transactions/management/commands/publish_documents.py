import hashlib
import os
import unicodedata
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from django.core.exceptions import ValidationError

from core.json_rules import choice, text
from core.management.arguments import Argument
from core.management.base import Outcome
from core.refusals import RefusedError
from partners.models import Partner
from transactions import imports
from transactions.documents.file_types import MAX_BYTES, content_type_of
from transactions.documents.publishing import StorageError, publish
from transactions.imports import LineError
from transactions.management import REJECTS, LinesCommand
from transactions.models import TITLE_LENGTH, Document, DocumentType
from users.models import User
from users.profile.field_rules import external_id

NAME_LENGTH = 1000


class Command(LinesCommand):
    help = (
        "Publish many documents: NDJSON, one a line, of partner, externalId, file, type, title and, if it was not"
        " issued now, createdAt. The files are beside the manifest. Exit status 1 if any line was rejected or the run"
        " could not be finished."
    )

    arguments = (Argument("file", metavar="MANIFEST", help="the file, or - for standard input"), REJECTS)
    done = "published"

    def perform(self, *, file: str, **options: Any) -> Outcome:
        self.folder = Path(os.path.realpath(Path(file).parent))
        return super().perform(file=file, **options)

    def parse(self, line: bytes) -> dict[str, Any]:
        return imports.values_of(imports.parse_line(line), _RULES, optional="createdAt")

    def store(self, records: Mapping[int, dict[str, Any]]) -> tuple[int, dict[int, str]]:
        [(number, record)] = records.items()
        try:
            return int(_publish(self.folder, record)), {}
        except StorageError:
            # It would refuse each line.
            raise
        except ValidationError as error:
            return 0, {number: " ".join(error.messages)}
        except (LineError, RefusedError) as error:
            return 0, {number: str(error)}


def _publish(folder: Path, record: Mapping[str, Any]) -> bool:
    """Whether the document was not there before; one that was withdrawn since does not come back."""
    user = User.objects.filter(partner__slug=record["partner"], external_id=record["externalId"]).first()
    if user is None:
        is_known = Partner.objects.filter(slug=record["partner"]).exists()
        raise LineError(imports.UNKNOWN_USER if is_known else imports.UNKNOWN_PARTNER)
    content = _read(folder, record["file"])
    same = Document.objects.filter(user=user, type=record["type"], title=record["title"])
    if same.filter(sha256=hashlib.sha256(content).digest()).exists():
        return False
    publish(
        user=user,
        content=content,
        kind=record["type"],
        title=record["title"],
        content_type=content_type_of(record["file"]),
        created_at=record.get("createdAt"),
    )
    return True


def _read(folder: Path, name: str) -> bytes:
    # The same name may be written in two ways: é as one character, or as e with an accent, as macOS stores it.
    for form in (name, unicodedata.normalize("NFC", name), unicodedata.normalize("NFD", name)):
        # Path.resolve raises RuntimeError for a link to itself, before Python 3.13.
        path = Path(os.path.realpath(folder / form))
        # A manifest made elsewhere must not publish any other file of this machine.
        if not path.is_relative_to(folder):
            raise LineError("file: Must be below the folder of the manifest.")
        try:
            if path.is_file():
                with path.open("rb") as source:
                    return source.read(MAX_BYTES + 1)
        except OSError as error:
            raise LineError(f"file: {error.strerror}.") from None
    raise LineError("file: Not found.")


def _file(value: Any) -> str:
    if not isinstance(value, str) or not 1 <= len(value) <= NAME_LENGTH or not value.isprintable():
        raise ValidationError("Must be the path of a file below the folder of the manifest.")
    return value


_RULES: dict[str, imports.Rule] = {
    "partner": imports.slug,
    "externalId": external_id,
    "file": _file,
    "type": partial(choice, among=DocumentType),
    "title": partial(text, shortest=1, longest=TITLE_LENGTH),
    "createdAt": imports.created_at,
}
