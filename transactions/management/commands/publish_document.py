from argparse import ArgumentParser
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError

from partners.management.base import Outcome, ServiceCommand, standard_input
from transactions.documents.file_types import EXTENSIONS, UNKNOWN, content_type_of
from transactions.documents.publishing import Replacement, StorageError, UnreadableError, publish
from transactions.documents.withdrawing import find_document
from transactions.imports.lines import LineError, created_at_of
from transactions.models import DocumentType
from users.management.base import add_user, find_user
from users.staff.staff import acting_staff


class Command(ServiceCommand):
    help = "Store a file and list it among a user's documents. Each run publishes another document."

    def add_arguments(self, parser: ArgumentParser) -> None:
        add_user(parser)
        parser.add_argument("file", metavar="FILE", help="the file, or - for standard input")
        parser.add_argument("--type", required=True, choices=DocumentType.values, help="the document's type")
        parser.add_argument("--title", required=True, help="the document's title, up to 200 characters")
        parser.add_argument("--content-type", choices=sorted(EXTENSIONS), help="by the extension of FILE by default")
        parser.add_argument("--created-at", metavar="T", help="when it was issued, in RFC 3339; now by default")
        parser.add_argument(
            "--replace", metavar="DOCUMENT_ID", help="a document of the user to withdraw together with it"
        )
        parser.add_argument("--reason", help="why that document is withdrawn; stored permanently")
        parser.add_argument(
            "--by", metavar="STAFF_USERNAME", help="who withdraws it: an active account that may decide"
        )

    def perform(self, **options: Any) -> Outcome:
        slug, external_id, name = options["slug"], options["external_id"], options["file"]
        content_type = _content_type(name, options["content_type"])
        user = find_user(slug, external_id)
        try:
            created_at = created_at_of(options["created_at"]) if options["created_at"] is not None else None
        except LineError as error:
            raise CommandError(f"--created-at {error.problem}.") from None
        replacement = _replacement(options["replace"], options["reason"], options["by"])
        try:
            with nullcontext(standard_input()) if name == "-" else Path(name).open("rb") as source:
                document = publish(
                    user=user,
                    source=source,
                    kind=DocumentType(options["type"]),
                    title=options["title"],
                    content_type=content_type,
                    created_at=created_at,
                    replacement=replacement,
                )
        except UnreadableError as error:
            raise CommandError(f"{name}: {error}") from error
        except StorageError as error:
            raise CommandError(str(error)) from error
        except OSError as error:
            raise CommandError(f"{name}: {error.strerror}") from error
        return Outcome(
            {"documentId": str(document.document_id)},
            [f"Published {document.document_id}: {document.size_bytes} bytes of {document.content_type}."],
        )


def _content_type(name: str, given: str | None) -> str:
    named = content_type_of(name)
    if given and named not in {UNKNOWN, given}:
        raise CommandError(f"{name}: its name is that of {named}, not of {given}.")
    return given or named


def _replacement(document_id: str | None, reason: str | None, by: str | None) -> Replacement | None:
    if (document_id, reason, by) == (None, None, None):
        return None
    if document_id is None or reason is None or by is None:
        raise CommandError("--replace, --reason and --by belong together.", returncode=2)
    return Replacement(document=find_document(document_id), by=acting_staff(by), reason=reason)
