"""GET /v1/sandbox/requests: what a sandbox partner sent (contract, section 11)."""

from django.http import HttpResponse
from rest_framework import serializers

from core import formats as uuids
from partners import request_log
from partners.api.errors import NotFoundError
from partners.api.lists import LimitPagination
from partners.api.request import PartnerRequest
from partners.api.serializers import DiagnosisSerializer, InstantField
from partners.models import SandboxRequest
from sandbox.views import SandboxView

REQUEST_NOT_FOUND = "None of the last requests has this id."


class SandboxRequestSerializer(serializers.Serializer[SandboxRequest]):
    """A request that a key of the partner sent, and how it was answered. Bodies are not kept."""

    requestId = serializers.UUIDField(source="request_id")
    createdAt = InstantField(source="created_at")
    method = serializers.CharField()
    path = serializers.CharField()
    query = serializers.CharField()
    status = serializers.IntegerField()
    error = serializers.CharField()
    fieldErrors = serializers.ListField(source="field_errors")
    idempotencyKey = serializers.CharField(source="idempotency_key")
    replayed = serializers.BooleanField()
    milliseconds = serializers.IntegerField()
    diagnosis = DiagnosisSerializer()


class SandboxRequestView(SandboxView):
    """A view of requests, which is not among them: reading the list does not change it."""

    is_recorded = False


class SandboxRequestList(SandboxRequestView):
    """/v1/sandbox/requests."""

    pagination_class = LimitPagination
    serializer_class = SandboxRequestSerializer

    def get(self, request: PartnerRequest) -> HttpResponse:
        self.paginator.require_valid()
        rows = request_log.last_requests(request.user.partner_id)[: self.paginator.limit]
        return self.read({"items": [self.serializer_class(row).data for row in rows]})


class SandboxRequestItem(SandboxRequestView):
    """/v1/sandbox/requests/{requestId}."""

    serializer_class = SandboxRequestSerializer

    def get(self, request: PartnerRequest, request_id: str) -> HttpResponse:
        rows = request_log.last_requests(request.user.partner_id)
        row = rows.filter(request_id=request_id).first() if uuids.is_uuid(request_id) else None
        if row is None:
            raise NotFoundError(REQUEST_NOT_FOUND)
        return self.read(self.serializer_class(row).data)
