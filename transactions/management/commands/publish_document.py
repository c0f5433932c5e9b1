from functools import partial
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError

from core.json_rules import text
from core.management.arguments import Argument
from core.management.base import Outcome, ServiceCommand
from staff.models import Staff
from transactions.documents.file_types import MAX_BYTES, content_type_of
from transactions.documents.publishing import publish
from transactions.imports import created_at
from transactions.management import find_document
from transactions.models import TITLE_LENGTH, Document, DocumentType
from users.management import USER, by


class Command(ServiceCommand):
    help = "Store a file and list it among a user's documents. Each run publishes another document."

    arguments = (
        USER,
        Argument("file", metavar="FILE", help="the file, whose content fits its ending"),
        Argument("--type", required=True, choices=DocumentType.values, dest="kind", help="the document's type"),
        Argument(
            "--title",
            required=True,
            metavar="TEXT",
            find=partial(text, shortest=1, longest=TITLE_LENGTH),
            help="the document's title, up to 200 characters",
        ),
        Argument("--created-at", metavar="T", find=created_at, help="when it was issued, in RFC 3339 (default: now)"),
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
        with Path(file).open("rb") as source:
            content = source.read(MAX_BYTES + 1)
        published = publish(**document, content=content, content_type=content_type_of(file))
        return Outcome(
            {"documentId": published.document_id},
            f"Published {published.document_id}: {published.size_bytes} bytes of {published.content_type}.",
        )
