"""The parts of the OpenAPI document that all operations share: signing, headers, errors (contract, 1, 3 and 5)."""

from functools import cache
from typing import Any, Literal

from django.core.exceptions import ImproperlyConfigured
from drf_spectacular.extensions import OpenApiAuthenticationExtension, OpenApiSerializerExtension
from drf_spectacular.openapi import AutoSchema
from drf_spectacular.utils import Direction, OpenApiExample, OpenApiParameter, OpenApiResponse, inline_serializer
from rest_framework import serializers

from partners import uuids
from partners.api import errors
from partners.api.base import PartnerAPIView
from partners.api.idempotency import HEADER, NOT_A_UUID
from partners.api.pagination import DEFAULT_LIMIT, MAX_LIMIT
from partners.api.sandbox.faults import HEADER as FAULT_HEADER
from partners.api.sandbox.faults import SLOW_SECONDS, Fault
from partners.api.serializers import DiagnosisSerializer
from partners.authentication.signature_authentication import REALM
from partners.authentication.signatures import NotUtf8Error

REQUEST_ID = "4b0c7d1e-58a3-4d0c-9f0e-2f6a3c1b7d55"
EXAMPLE_DIAGNOSIS = {
    "cause": "query",
    "message": "The query is not sorted. The query: decode names and values (+ is a space), percent-encode them as the"
    " path but with / too, sort the pairs by name and then by value, join them as name=value with &. Empty if there is"
    " no query. Sort the encoded pairs by name, then by value, byte by byte.",
    "canonicalRequest": "GET\n/v1/users/cust-1001/transactions\ncursor=2026-01-15T10%3A30%3A00.123456Z&limit=50\n"
    "2026-01-15T10:31:00Z\n\ne3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
}

ERRORS_OF_ALL = (
    errors.UnauthorizedError(),
    errors.UnauthorizedError("Header X-Api-Key is missing."),
    errors.UnauthorizedError(diagnosis=EXAMPLE_DIAGNOSIS),
    errors.TooManyRequestsError(17),
    errors.InternalError(),
    errors.UnavailableError(),
    errors.BadRequestError(str(NotUtf8Error("query"))),
    errors.BodyTooLargeError(),
)
ERRORS_OF_BODIES = (
    *ERRORS_OF_ALL,
    errors.UnsupportedMediaTypeError(),
    errors.UnsupportedMediaTypeError(errors.CONTENT_ENCODING),
    errors.BadRequestError(errors.MALFORMED_JSON),
)
ERRORS_OF_WRITES = (*ERRORS_OF_BODIES, errors.invalid_parameter(HEADER, NOT_A_UUID))


def response_header(
    name: str,
    description: str,
    example: str,
    *,
    statuses: list[int] | Literal[True] = True,
    required: bool = True,
    **schema: str,
) -> OpenApiParameter:
    """A response header, a parameter for drf-spectacular. schema: JSON Schema keywords, such as `pattern`."""
    return OpenApiParameter(
        name,
        type={"type": "string", **schema},
        location=OpenApiParameter.HEADER,
        required=required,
        description=description,
        examples=[OpenApiExample(name, value=example)],
        response=statuses,
    )


def cursor_parameter(
    pattern: str,
    example: str,
    description: str = "The nextCursor of the previous page, unchanged; without it, the first page.",
) -> OpenApiParameter:
    """`cursor` of a list."""
    return OpenApiParameter(
        "cursor",
        type={"type": "string", "pattern": pattern},
        description=description,
        examples=[OpenApiExample("cursor", value=example)],
    )


# No format `uuid`: generated clients have a type of their own for it, and some fail to send that as a header.
IDEMPOTENCY_KEY = {"type": "string", "pattern": f"^{uuids.PATTERN}$"}
LIMIT = OpenApiParameter(
    "limit",
    type={"type": "integer", "minimum": 1, "maximum": MAX_LIMIT, "default": DEFAULT_LIMIT},
    description="The maximum number of items.",
    examples=[OpenApiExample("limit", value=DEFAULT_LIMIT)],
)

# A body that is too large is refused before the rate limit is counted.
_COUNTED = [status for status in range(200, 600) if status != errors.BodyTooLargeError.status_code]
COMMON_HEADERS = [
    response_header("X-Request-Id", "The request's id, for support.", REQUEST_ID, format="uuid"),
    response_header("Cache-Control", "Responses must not be cached.", "no-store", const="no-store"),
    response_header(
        "RateLimit-Policy",
        "The limit: `q` requests in `w` seconds (draft-ietf-httpapi-ratelimit-headers-10).",
        '"default";q=600;w=60',
        pattern='^"default";q=[0-9]+;w=[0-9]+$',
        statuses=_COUNTED,
        required=False,
    ),
    response_header(
        "RateLimit",
        "The remaining quota: `r` requests in `t` more seconds.",
        '"default";r=599;t=42',
        pattern='^"default";r=[0-9]+;t=[0-9]+$',
        statuses=_COUNTED,
        required=False,
    ),
    response_header("WWW-Authenticate", "How to authenticate.", REALM, const=REALM, statuses=[401]),
    response_header(
        "Retry-After", "The seconds to wait before a retry.", "17", pattern="^[1-9][0-9]*$", statuses=[429, 503]
    ),
]

SANDBOX_FAULT = OpenApiParameter(
    FAULT_HEADER,
    type={"type": "string", "enum": [fault.value for fault in Fault]},
    location=OpenApiParameter.HEADER,
    description="Simulates a failure, for sandbox partners; from live partners it is ignored. `tooManyRequests`,"
    " `internalError` and `unavailable` are answered so, and nothing is done. `slow` waits"
    f" {SLOW_SECONDS:.0f} seconds before anything is done. `lostAnswer` does what is asked, then breaks the connection"
    " without an answer: what an Idempotency-Key is for. It is not signed.",
    examples=[OpenApiExample(FAULT_HEADER, value=Fault.UNAVAILABLE.value)],
)


def success(
    serializer: type[serializers.BaseSerializer[Any]], description: str, example: Any, **others: Any
) -> OpenApiResponse:
    """A successful response and an example of it. others: further examples, by name."""
    examples = {"Success": example} | others
    return OpenApiResponse(
        serializer,
        description,
        [OpenApiExample(name, value=value, response_only=True) for name, value in examples.items()],
    )


def error_responses(
    *particular: errors.ApiError, writes: bool = False, bodies: bool = False
) -> dict[int, OpenApiResponse]:
    """An operation's error responses by status: `particular`, one for each example, and those of all operations.

    writes: under an Idempotency-Key. bodies: with a body, and without such a key.
    """
    by_status: dict[int, list[errors.ApiError]] = {}
    common = ERRORS_OF_WRITES if writes else ERRORS_OF_BODIES if bodies else ERRORS_OF_ALL
    for error in (*particular, *common):
        by_status.setdefault(error.status_code, []).append(error)
    return {status: _error_response(by_status[status]) for status in sorted(by_status)}


class ApiSchema(AutoSchema):
    """Adds the common headers of requests and responses to each operation (DRF's DEFAULT_SCHEMA_CLASS)."""

    def get_response_serializers(self) -> Any:
        """Called if `@extend_schema` or its responses are missing. Raises ImproperlyConfigured."""
        raise ImproperlyConfigured(
            f"{type(self.view).__name__}.{self.method.lower()} needs @extend_schema(responses=…)."
        )

    def get_override_parameters(self) -> list[Any]:
        """The common headers; a webhook has none of them."""
        return [*COMMON_HEADERS, SANDBOX_FAULT] if isinstance(self.view, PartnerAPIView) else []


class SignatureScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    """The three headers of a signature, which are required together."""

    target_class = "partners.authentication.signature_authentication.SignatureAuthentication"
    name = ["apiKey", "timestamp", "signature"]  # noqa: RUF012 - drf-spectacular's own declaration

    def get_security_definition(self, auto_schema: AutoSchema) -> list[dict[str, str]]:
        """One scheme per header."""
        descriptions = {
            "X-Api-Key": "The API key, as issued.",
            "X-Request-Timestamp": "When the request was signed: an RFC 3339 date-time with an offset or Z, line 4 of"
            " the canonical request. It may differ from the service's clock by 300 seconds either way, unless agreed"
            " otherwise.",
            "X-Request-Signature": "The hex HMAC-SHA256 of the canonical request under the key's secret. The guide at"
            " /docs describes the canonical request.",
        }
        return [
            {"type": "apiKey", "in": "header", "name": header, "description": description}
            for header, description in descriptions.items()
        ]


class StrictSchema(OpenApiSerializerExtension):  # type: ignore[no-untyped-call]
    """Says of a StrictSerializer that it refuses unknown fields."""

    target_class = "partners.api.serializers.StrictSerializer"
    match_subclasses = True

    def map_serializer(self, auto_schema: AutoSchema, direction: Direction) -> dict[str, Any]:
        """drf-spectacular's schema, closed in requests."""
        # It maps this class.
        self.target_class = self.target
        schema: dict[str, Any] = super().map_serializer(auto_schema, direction)
        return schema | ({"additionalProperties": False} if direction == "request" else {})


class FieldErrorSerializer(serializers.Serializer[errors.FieldError]):
    """A field, parameter or header that is not valid."""

    field = serializers.CharField(help_text="Its name, such as `email`, `items[0].rate` or `Idempotency-Key`.")
    message = serializers.CharField(help_text="The problem, for people; never contains the value sent.")
    code = serializers.CharField(
        help_text=f"The kind of problem, for programs: {', '.join(errors.FIELD_ERROR_CODES)}. Codes may be added."
    )


@cache
def _error_serializer(code: str, *, with_fields: bool) -> serializers.Serializer[Any]:
    """The error object (contract, section 1), with a schema for each `error` for generated clients."""
    fields: dict[str, Any] = {
        "__doc__": f"The body of an error `{code}`.",
        "error": serializers.ChoiceField([code], help_text="The kind of error, for programs."),
        "message": serializers.CharField(help_text="What is wrong, for people; the wording may change."),
        "requestId": serializers.UUIDField(help_text="The request's id, as in X-Request-Id: quote it to support."),
    }
    if code == errors.UnauthorizedError.code:
        fields["diagnosis"] = DiagnosisSerializer(
            required=False, help_text="Why, where a sandbox key in force was refused for its timestamp or signature."
        )
    if with_fields:
        fields["fieldErrors"] = FieldErrorSerializer(
            many=True, help_text="Every field, parameter or header that is not valid."
        )
    return inline_serializer("".join(word.capitalize() for word in code.split("_")), fields)


def _error_response(alike: list[errors.ApiError]) -> OpenApiResponse:
    first = alike[0]
    examples = [
        OpenApiExample(
            f"{first.code}_{number}", value=error.body() | {"requestId": REQUEST_ID}, summary=_summary(error)
        )
        for number, error in enumerate(alike, start=1)
    ]
    serializer = _error_serializer(first.code, with_fields=isinstance(first, errors.BadRequestError))
    meanings = dict.fromkeys(str(type(error).__doc__).split("\n\n")[0].replace("\n", " ") for error in alike)
    return OpenApiResponse(serializer, " ".join(meanings), examples)


def _summary(error: errors.ApiError) -> str:
    """The message, or the first field error."""
    if isinstance(error, errors.BadRequestError) and error.field_errors:
        return ": ".join(error.field_errors[0][:2])
    if isinstance(error, errors.UnauthorizedError) and error.diagnosis:
        return "A sandbox key in force"
    return error.message
