"""`manage.py publish_document`."""

import sys
from argparse import ArgumentParser
from contextlib import ExitStack
from datetime import datetime
from pathlib import Path
from typing import Any, BinaryIO

from django.core.management.base import CommandError

from partners.management.base import Outcome, ServiceCommand, find_partner
from transactions.documents.file_types import EXTENSIONS, content_type_of
from transactions.documents.publishing import StorageError, UnreadableError, publish
from transactions.models import DocumentType
from transactions.timestamps import parse_created_at
from users.models import User


class Command(ServiceCommand):
    """Stores a file and lists it among a user's documents; each run publishes another document."""

    help = "Store a file and list it among a user's documents. Each run publishes another document."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """SLUG EXTERNAL_ID FILE --type TYPE --title TEXT [--content-type C] [--created-at T]."""
        parser.add_argument("slug", metavar="SLUG", help="the partner's slug")
        parser.add_argument("external_id", metavar="EXTERNAL_ID", help="the user's externalId")
        parser.add_argument("file", metavar="FILE", help="the file, or - for standard input")
        parser.add_argument("--type", required=True, choices=DocumentType.values, help="the document's type")
        parser.add_argument("--title", required=True, help="the document's title, up to 200 characters")
        parser.add_argument("--content-type", choices=sorted(EXTENSIONS), help="by the extension of FILE by default")
        parser.add_argument("--created-at", metavar="T", help="when it was issued, in RFC 3339; now by default")

    def perform(self, **options: Any) -> Outcome:
        """Publish the document. Raises CommandError for an unknown user, and if the file cannot be read or stored."""
        slug, external_id, name = options["slug"], options["external_id"], options["file"]
        try:
            user = find_partner(slug).users.get(external_id=external_id)
        except User.DoesNotExist:
            raise CommandError(f"Partner {slug} has no user {external_id!r}.") from None
        with ExitStack() as stack:
            try:
                document = publish(
                    user=user,
                    source=_open(name, stack),
                    kind=DocumentType(options["type"]),
                    title=options["title"],
                    content_type=options["content_type"] or content_type_of(name),
                    created_at=_created_at(options["created_at"]),
                )
            except UnreadableError as error:
                raise CommandError(f"{name}: {error}") from error
            except StorageError as error:
                raise CommandError("The storage of documents cannot be used: see DOCUMENT_STORAGE_URL.") from error
        return Outcome(
            {"documentId": str(document.document_id)},
            [f"Published {document.document_id}: {document.size_bytes} bytes of {document.content_type}."],
        )


def _created_at(value: str | None) -> datetime | None:
    try:
        return None if value is None else parse_created_at(value)
    except ValueError as error:
        raise CommandError(f"--created-at {error}.") from None


def _open(name: str, stack: ExitStack) -> BinaryIO:
    if name == "-":
        return sys.stdin.buffer
    try:
        return stack.enter_context(Path(name).open("rb"))
    except OSError as error:
        raise CommandError(f"{name}: {error.strerror}") from error
