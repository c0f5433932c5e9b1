"""`manage.py publish_document`."""

import re
import sys
from argparse import ArgumentParser
from contextlib import ExitStack
from datetime import datetime
from pathlib import Path
from typing import Any, BinaryIO

from django.core.management.base import CommandError

from partners.authentication.signing import parse_timestamp
from partners.management.base import Outcome, ServiceCommand, find_partner
from transactions.documents.file_types import ENDINGS, content_type_of
from transactions.documents.publishing import StorageError, UnreadableError, publish
from transactions.models import LATEST, DocumentType
from users.models import User

_FINER_THAN_MICROSECONDS = re.compile(r"\.\d{6}\d*[1-9]", re.ASCII)


class Command(ServiceCommand):
    """Stores a file and lists it among a user's documents; each run publishes another document."""

    help = "Stores a file and lists it among a user's documents. Each run publishes another document."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """SLUG EXTERNAL_ID FILE --type TYPE --title TEXT [--content-type C] [--created-at T]."""
        super().add_arguments(parser)
        parser.add_argument("slug", metavar="SLUG", help="the partner's slug")
        parser.add_argument("external_id", metavar="EXTERNAL_ID", help="the partner's identifier of the user")
        parser.add_argument("file", metavar="FILE", help="the file, or - for standard input")
        parser.add_argument("--type", required=True, choices=DocumentType.values, help="what kind of document it is")
        parser.add_argument("--title", required=True, help="what people call it, up to 200 characters")
        parser.add_argument("--content-type", choices=sorted(ENDINGS), help="by FILE's ending where not given")
        parser.add_argument("--created-at", metavar="T", help="when it was issued, in RFC 3339; now where not given")

    def perform(self, **options: Any) -> Outcome:
        """Publishes it. Raises CommandError where there is no such user, or the file cannot be read or stored."""
        user = _find_user(options["slug"], options["external_id"])
        created_at = _instant(options["created_at"]) if options["created_at"] is not None else None
        with ExitStack() as stack:
            source = _open(options["file"], stack)
            try:
                document = publish(
                    user=user,
                    source=source,
                    kind=options["type"],
                    title=options["title"],
                    content_type=options["content_type"] or content_type_of(options["file"]),
                    created_at=created_at,
                )
            except UnreadableError as error:
                raise CommandError(f"{options['file']}: {error}") from error
            except StorageError as error:
                raise CommandError("The storage of documents cannot be used: see DOCUMENT_STORAGE_URL.") from error
        return Outcome(
            {"documentId": str(document.document_id)},
            [f"Published {document.document_id}: {document.size_bytes} bytes of {document.content_type}."],
        )


def _find_user(slug: str, external_id: str) -> User:
    try:
        return find_partner(slug).users.get(external_id=external_id)
    except User.DoesNotExist:
        raise CommandError(f"Partner {slug} has no user {external_id!r}.") from None


def _instant(value: str) -> datetime:
    try:
        moment = parse_timestamp(value)
    except ValueError:
        raise CommandError("--created-at must be an RFC 3339 date-time, such as 2026-01-31T12:00:00Z.") from None
    if _FINER_THAN_MICROSECONDS.search(value):
        raise CommandError("--created-at is finer than microseconds.")
    if moment >= LATEST:
        raise CommandError(f"--created-at must be before {LATEST:%Y-%m-%d}.")
    return moment


def _open(name: str, stack: ExitStack) -> BinaryIO:
    if name == "-":
        return sys.stdin.buffer
    try:
        return stack.enter_context(Path(name).open("rb"))
    except OSError as error:
        raise CommandError(f"{name}: {error.strerror}") from error
