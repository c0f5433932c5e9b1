"""GET /v1/sandbox/requests: what a sandbox partner sent (contract, section 11)."""

from typing import Any

from django.http import HttpResponse
from drf_spectacular.utils import OpenApiExample, OpenApiParameter, extend_schema
from rest_framework import serializers

from partners import request_log, uuids
from partners.api.errors import FieldError, NotFoundError
from partners.api.pagination import KeysetPagination
from partners.api.request import PartnerRequest
from partners.api.schema import (
    EXAMPLE_DIAGNOSIS,
    LIMIT,
    REQUEST_ID,
    FieldErrorSerializer,
    error_responses,
    success,
)
from partners.api.serializers import DiagnosisSerializer, InstantField
from partners.api.views import SandboxView
from partners.models import SandboxRequest

REQUEST_NOT_FOUND = "None of the last requests has this id."


class SandboxRequestSerializer(serializers.Serializer[SandboxRequest]):
    """A request that a key of the partner sent, and how it was answered. Bodies are not kept."""

    requestId = serializers.UUIDField(source="request_id", help_text="X-Request-Id of the response.")
    createdAt = InstantField(source="created_at", help_text="When the request arrived.")
    method = serializers.CharField(help_text="The method of the request.")
    path = serializers.CharField(help_text="The canonical path, line 2 of the canonical request.")
    query = serializers.CharField(help_text="As sent; empty if there was none.")
    status = serializers.IntegerField(min_value=100, max_value=599, help_text="The HTTP status of the response.")
    error = serializers.CharField(allow_null=True, help_text="The error code; null where the request succeeded.")
    fieldErrors = FieldErrorSerializer(
        source="field_errors", many=True, help_text="Those of the response, at most 100."
    )
    idempotencyKey = serializers.CharField(
        source="idempotency_key", allow_null=True, help_text="As it was sent; null if there was none."
    )
    replayed = serializers.BooleanField(help_text="Whether the response was that of an earlier request.")
    milliseconds = serializers.IntegerField(min_value=0, help_text="How long the service took.")
    diagnosis = DiagnosisSerializer(allow_null=True, help_text="Why the signature was refused, if it was.")


class SandboxRequestListSerializer(serializers.Serializer[Any]):
    """The partner's last requests, the newest first."""

    items = SandboxRequestSerializer(many=True, help_text="At most as many as the limit.")


EXAMPLE = {
    "requestId": REQUEST_ID,
    "createdAt": "2026-01-15T10:30:00.012345Z",
    "method": "GET",
    "path": "/v1/users/cust-1001/transactions",
    "query": "limit=50&cursor=2026-01-15T10%3A30%3A00.123456Z",
    "status": 401,
    "error": "unauthorized",
    "fieldErrors": [],
    "idempotencyKey": None,
    "replayed": False,
    "milliseconds": 4,
    "diagnosis": EXAMPLE_DIAGNOSIS,
}


EXAMPLE_INVALID = EXAMPLE | {
    "requestId": "7d8b1566-3c5e-4a0e-8e9e-0d8c1f4c2f11",
    "method": "PATCH",
    "path": "/v1/users/cust-1001",
    "query": "",
    "status": 400,
    "error": "bad_request",
    "fieldErrors": [{"field": "email", "message": "Must be a valid email address.", "code": "format"}],
    "idempotencyKey": "3f1c2b7e-8d4a-4c55-9b1e-6a7f0e2d9c10",
    "diagnosis": None,
}


class _Limit(KeysetPagination[None]):
    """`limit` alone: there are no further pages."""

    def parse(self, cursor: str) -> None:
        """There is no cursor."""

    def read(self, parameters: Any) -> list[FieldError]:
        """As for lists; `cursor` is ignored, like every unknown parameter."""
        return super().read({name: values for name, values in parameters.items() if name == "limit"})


class SandboxRequestView(SandboxView):
    """A view of requests, which is not among them: reading the list does not change it."""

    is_recorded = False


class SandboxRequestList(SandboxRequestView):
    """/v1/sandbox/requests."""

    pagination_class = _Limit
    serializer_class = SandboxRequestListSerializer

    @extend_schema(
        operation_id="listSandboxRequests",
        tags=["Sandbox requests"],
        summary="List the requests that you sent",
        description="The last 100 requests of 24 hours that keys of the partner sent while they were in force, the"
        " newest first, refused ones included; each appears within 2 seconds of its response. Requests for this list"
        " are not in it, unless their signature was refused. Bodies are not kept. For sandbox partners only.",
        parameters=[LIMIT],
        responses={
            200: success(SandboxRequestListSerializer, "The last requests.", {"items": [EXAMPLE_INVALID, EXAMPLE]}),
            **error_responses(NotFoundError("Path not found.")),
        },
    )
    def get(self, request: PartnerRequest) -> HttpResponse:
        self.paginator.require_valid()
        rows = request_log.last_requests(request.user.partner_id)[: self.paginator.limit]
        return self.read(self.serializer_class({"items": rows}).data)


class SandboxRequestItem(SandboxRequestView):
    """/v1/sandbox/requests/{requestId}."""

    serializer_class = SandboxRequestSerializer

    @extend_schema(
        operation_id="getSandboxRequest",
        tags=["Sandbox requests"],
        summary="Read a request that you sent",
        description="One of the last 100 requests of 24 hours, by the X-Request-Id of its response. For sandbox"
        " partners only.",
        parameters=[
            OpenApiParameter(
                "request_id",
                type={"type": "string"},
                location=OpenApiParameter.PATH,
                description="The X-Request-Id of the response.",
                examples=[OpenApiExample("requestId", value=REQUEST_ID)],
            )
        ],
        responses={
            200: success(SandboxRequestSerializer, "The request.", EXAMPLE),
            **error_responses(NotFoundError(REQUEST_NOT_FOUND)),
        },
    )
    def get(self, request: PartnerRequest, request_id: str) -> HttpResponse:
        rows = request_log.last_requests(request.user.partner_id)
        row = rows.filter(request_id=request_id).first() if uuids.is_uuid(request_id) else None
        if row is None:
            raise NotFoundError(REQUEST_NOT_FOUND)
        return self.read(self.serializer_class(row).data)
