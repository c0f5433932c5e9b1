from argparse import ArgumentParser
from typing import Any

from partners.management.base import Outcome, ServiceCommand
from transactions.documents.withdrawing import find_document, withdraw
from users.management.base import add_by
from users.staff.staff import acting_staff


class Command(ServiceCommand):
    help = "Withdraw a document that was published by mistake. The partner no longer sees it; auditors do."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("document_id", metavar="DOCUMENT_ID", help="the document's documentId")
        parser.add_argument("--reason", required=True, help="stored permanently")
        add_by(parser)

    def perform(self, *, document_id: str, reason: str, by: str, **_: Any) -> Outcome:
        document = find_document(document_id)
        withdraw(document=document, by=acting_staff(by), reason=reason, source="manage.py withdraw_document")
        return Outcome(
            {"documentId": str(document.document_id)},
            [f"Withdrawn {document.document_id}: the partner can neither list nor download it."],
        )
