from argparse import ArgumentParser
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError

from partners.management.base import Outcome, ServiceCommand, find_partner, standard_input
from transactions.documents.file_types import EXTENSIONS, content_type_of
from transactions.documents.publishing import StorageError, UnreadableError, publish
from transactions.models import DocumentType
from transactions.timestamps import parse_created_at
from users.models import User


class Command(ServiceCommand):
    help = "Store a file and list it among a user's documents. Each run publishes another document."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("slug", metavar="SLUG", help="the partner's slug")
        parser.add_argument("external_id", metavar="EXTERNAL_ID", help="the user's externalId")
        parser.add_argument("file", metavar="FILE", help="the file, or - for standard input")
        parser.add_argument("--type", required=True, choices=DocumentType.values, help="the document's type")
        parser.add_argument("--title", required=True, help="the document's title, up to 200 characters")
        parser.add_argument("--content-type", choices=sorted(EXTENSIONS), help="by the extension of FILE by default")
        parser.add_argument("--created-at", metavar="T", help="when it was issued, in RFC 3339; now by default")

    def perform(self, **options: Any) -> Outcome:
        slug, external_id, name = options["slug"], options["external_id"], options["file"]
        try:
            user = find_partner(slug).users.get(external_id=external_id)
        except User.DoesNotExist:
            raise CommandError(f"Partner {slug} has no user {external_id!r}.") from None
        try:
            created_at = parse_created_at(options["created_at"]) if options["created_at"] is not None else None
        except ValueError as error:
            raise CommandError(f"--created-at {error}.") from None
        try:
            with nullcontext(standard_input()) if name == "-" else Path(name).open("rb") as source:
                document = publish(
                    user=user,
                    source=source,
                    kind=DocumentType(options["type"]),
                    title=options["title"],
                    content_type=options["content_type"] or content_type_of(name),
                    created_at=created_at,
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
