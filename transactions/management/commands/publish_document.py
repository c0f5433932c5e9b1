from datetime import datetime
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError

from core.management.arguments import Argument
from core.management.base import Outcome, ServiceCommand
from staff.models import Staff
from transactions.documents.file_types import content_type_of
from transactions.documents.publishing import UnreadableError, find_document, publish
from transactions.imports import LineError, created_at_of
from transactions.models import Document, DocumentType
from users.management import USER, by


def _created_at(text: str) -> datetime:
    try:
        return created_at_of(text)
    except LineError as error:
        raise ValueError(error.problem) from None


class Command(ServiceCommand):
    help = "Store a file and list it among a user's documents. Each run publishes another document."

    arguments = (
        USER,
        Argument("file", metavar="FILE", help="the file, whose content fits its ending"),
        Argument("--type", required=True, choices=DocumentType.values, dest="kind", help="the document's type"),
        Argument("--title", required=True, metavar="TEXT", help="the document's title, up to 200 characters"),
        Argument("--created-at", metavar="T", find=_created_at, help="when it was issued, in RFC 3339 (default: now)"),
        Argument(
            "--replace",
            metavar="DOCUMENT_ID",
            find=find_document,
            help="a document of the user to withdraw together with it",
        ),
        Argument("--reason", metavar="TEXT", help="why that document is withdrawn; stored permanently"),
        by("who withdraws it: an active account that may decide", required=False),
    )

    def perform(
        self, *, file: str, replace: Document | None, reason: str | None, by: Staff | None, **document: Any
    ) -> Outcome:
        replaces = {"document": replace, "reason": reason, "by": by}
        if set(replaces.values()) != {None}:
            if None in replaces.values():
                raise CommandError("--replace, --reason and --by belong together.", returncode=2)
            document["replaces"] = replaces
        try:
            with Path(file).open("rb") as source:
                published = publish(**document, source=source, content_type=content_type_of(file))
        except UnreadableError as error:
            raise CommandError(f"{file}: {error}") from error
        return Outcome(
            {"documentId": published.document_id},
            f"Published {published.document_id}: {published.size_bytes} bytes of {published.content_type}.",
        )
