"""Conversions and documents that sandbox partners simulate: contract, section 11."""

import io

import structlog
from django.db.models.expressions import RawSQL
from django.http import HttpResponse
from orjson import Fragment

from partners.api.errors import UnavailableError
from partners.api.request import PartnerRequest
from sandbox.simulations.conversions import simulate_conversions
from sandbox.simulations.status import SandboxUserView
from transactions.api.serializers import SimulatedConversionsSerializer, SimulatedDocumentSerializer
from transactions.documents.file_types import pdf
from transactions.documents.publishing import StorageError, discard, publish
from transactions.models import Document

log = structlog.get_logger("sandbox.simulations.transactions")


class SimulatedTransactions(SandboxUserView):
    """/v1/sandbox/users/{externalId}/transactions."""

    serializer_class = SimulatedConversionsSerializer

    def post(self, request: PartnerRequest, external_id: str) -> HttpResponse:
        with self.once() as claim:
            if claim.is_new:
                user = self.get_user(external_id)
                items = self.validated()["items"]
                rows = simulate_conversions(user=user, slug=request.user.partner_slug, items=items)
                claim.respond(201, {"items": [Fragment(one) for one in rows]})
        return claim.response


class SimulatedDocuments(SandboxUserView):
    """/v1/sandbox/users/{externalId}/documents."""

    serializer_class = SimulatedDocumentSerializer

    def post(self, request: PartnerRequest, external_id: str) -> HttpResponse:
        document = None
        try:
            with self.once() as claim:
                if claim.is_new:
                    user = self.get_user(external_id)
                    body = self.validated()
                    document = publish(
                        user=user,
                        source=io.BytesIO(pdf(("SAMPLE", "", "A document of the sandbox, not a real one."))),
                        kind=body["type"],
                        title=body["title"],
                        content_type="application/pdf",
                    )
                    rows = Document.objects.filter(pk=document.pk)
                    claim.respond(201, Fragment(rows.values_list(RawSQL(Document.wire, ()), flat=True).get()))  # noqa: S611
        except StorageError:
            log.exception("document could not be stored")
            raise UnavailableError from None
        except BaseException as error:
            # Its file, if the row was rolled back.
            if document is not None:
                discard(document, error)
            raise
        return claim.response
