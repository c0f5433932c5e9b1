from core.management.arguments import REASON, Argument
from core.management.base import ServiceCommand
from transactions.documents.publishing import withdraw
from transactions.management import find_document
from users.management import by


class Command(ServiceCommand):
    help = "Withdraw a document that was published by mistake. The partner no longer sees it; auditors do."
    arguments = (Argument("document", metavar="DOCUMENT_ID", find=find_document, help="its documentId"), REASON, by())
    rule = staticmethod(withdraw)
    data = {"documentId": "document.document_id"}
    text = "Withdrawn {documentId}: the partner can neither list nor download it."
