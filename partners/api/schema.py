"""What the OpenAPI document says of every operation: signing, headers, errors (contract, sections 1, 3 and 5).

Views carry drf-spectacular's `@extend_schema`; settings.py names `ApiSchema` as DRF's DEFAULT_SCHEMA_CLASS.
"""

from functools import cache
from typing import Any, Literal

from django.core.exceptions import ImproperlyConfigured
from drf_spectacular.extensions import OpenApiAuthenticationExtension
from drf_spectacular.openapi import AutoSchema
from drf_spectacular.utils import OpenApiExample, OpenApiParameter, OpenApiResponse, inline_serializer
from rest_framework import serializers

from partners.api.errors import (
    REALM,
    ApiError,
    BadRequestError,
    BodyTooLargeError,
    FieldError,
    InternalError,
    TooManyRequestsError,
    UnauthorizedError,
    UnavailableError,
    UnsupportedMediaTypeError,
    invalid_parameter,
)
from partners.authentication.signature_authentication import NOT_VALID

REQUEST_ID = "4b0c7d1e-58a3-4d0c-9f0e-2f6a3c1b7d55"

ERRORS_OF_ALL = (
    UnauthorizedError(NOT_VALID),
    UnauthorizedError("Header X-Api-Key is missing."),
    TooManyRequestsError(17),
    InternalError(),
    UnavailableError(),
    BadRequestError("The query, percent-decoded, is not UTF-8."),
    BodyTooLargeError(),
)
# Of operations that take a body.
ERRORS_OF_WRITES = (
    *ERRORS_OF_ALL,
    UnsupportedMediaTypeError(),
    BadRequestError("The body is not well-formed JSON in UTF-8."),
    invalid_parameter("Idempotency-Key", "Must be a UUID of 36 characters."),
)


def response_header(
    name: str,
    description: str,
    example: str,
    *,
    statuses: list[int] | Literal[True] = True,
    required: bool = True,
    **schema: str,
) -> OpenApiParameter:
    """A header of the responses with these statuses, which drf-spectacular declares among the parameters.

    schema: keywords of JSON Schema for the value, such as `pattern`.
    """
    return OpenApiParameter(
        name,
        type={"type": "string", **schema},
        location=OpenApiParameter.HEADER,
        required=required,
        description=description,
        examples=[OpenApiExample(name, value=example)],
        response=statuses,
    )


# The rate limit is counted after authentication, which follows the check of the body's size.
_COUNTED = [status for status in range(200, 600) if status != BodyTooLargeError.status_code]
COMMON_HEADERS = [
    response_header(
        "X-Request-Id", "The request's id, made by the service: quote it to support.", REQUEST_ID, format="uuid"
    ),
    response_header("Cache-Control", "Caches must not keep the response.", "no-store", const="no-store"),
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
        "What is left: `r` requests, for `t` more seconds.",
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


def success(serializer: type[serializers.BaseSerializer[Any]], description: str, example: Any) -> OpenApiResponse:
    """A response with a body that this serializer describes."""
    return OpenApiResponse(serializer, description, [OpenApiExample("Success", value=example, response_only=True)])


def error_responses(*errors: ApiError, writes: bool = False) -> dict[int, OpenApiResponse]:
    """The error responses of an operation by status: these, and those of every operation.

    errors: one for each example. writes: whether the operation takes a body.
    """
    by_status: dict[int, list[ApiError]] = {}
    for error in (*errors, *(ERRORS_OF_WRITES if writes else ERRORS_OF_ALL)):
        by_status.setdefault(error.status_code, []).append(error)
    return {status: _error_response(by_status[status]) for status in sorted(by_status)}


class ApiSchema(AutoSchema):
    """Adds to each operation the headers that its responses have in common with those of every other one."""

    def get_response_serializers(self) -> Any:
        """Raises ImproperlyConfigured: called for a method whose `@extend_schema` is missing or names no responses."""
        raise ImproperlyConfigured(
            f"{type(self.view).__name__}.{self.method.lower()} needs @extend_schema(responses=…)."
        )

    def get_override_parameters(self) -> list[Any]:
        """The headers, in drf-spectacular's terms parameters of responses."""
        return COMMON_HEADERS


class SignatureScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    """The three headers of a signature: an operation needs them together."""

    target_class = "partners.authentication.signature_authentication.SignatureAuthentication"
    name = ["apiKey", "timestamp", "signature"]  # noqa: RUF012 - drf-spectacular's own declaration

    def get_security_definition(self, auto_schema: AutoSchema) -> list[dict[str, str]]:
        """One scheme for each header."""
        descriptions = {
            "X-Api-Key": "The API key, as issued: it names the key whose secret signs.",
            "X-Request-Timestamp": "When the request was signed: an RFC 3339 date-time with an offset or Z, line 4 of"
            " the canonical request. It may differ from the service's clock by 300 seconds either way, unless you were"
            " told otherwise.",
            "X-Request-Signature": "The hex HMAC-SHA256 of the canonical request under the key's secret. The guide at"
            " /docs says how the canonical request is made.",
        }
        return [
            {"type": "apiKey", "in": "header", "name": header, "description": description}
            for header, description in descriptions.items()
        ]


class FieldErrorSerializer(serializers.Serializer[FieldError]):
    """A field, parameter or header that is not valid."""

    field = serializers.CharField(help_text="Its name on the wire.")
    message = serializers.CharField(help_text="What is wrong with it; never what was sent.")


@cache
def _error_serializer(code: str, *, with_fields: bool) -> serializers.Serializer[Any]:
    """The error object: contract, section 1. A schema for each `error`, which generated clients tell apart."""
    fields: dict[str, Any] = {
        "error": serializers.ChoiceField([code], help_text="The kind of error, for programs."),
        "message": serializers.CharField(help_text="For people; its words may change."),
        "requestId": serializers.UUIDField(help_text="The same as X-Request-Id."),
    }
    if with_fields:
        fields["fieldErrors"] = FieldErrorSerializer(
            many=True, help_text="Every field, parameter or header that is not valid; empty where there is none."
        )
    return inline_serializer("".join(word.capitalize() for word in code.split("_")), fields)


def _error_response(errors: list[ApiError]) -> OpenApiResponse:
    """The response for errors of one status."""
    first = errors[0]
    examples = [
        OpenApiExample(
            f"{first.code}_{number}", value=error.body() | {"requestId": REQUEST_ID}, summary=_summary(error)
        )
        for number, error in enumerate(errors, start=1)
    ]
    serializer = _error_serializer(first.code, with_fields=isinstance(first, BadRequestError))
    meanings = dict.fromkeys(str(type(error).__doc__).split("\n\n")[0].replace("\n", " ") for error in errors)
    return OpenApiResponse(serializer, " ".join(meanings), examples)


def _summary(error: ApiError) -> str:
    """The message, or where an error names fields, the first one and what is wrong with it."""
    if isinstance(error, BadRequestError) and error.field_errors:
        return ": ".join(error.field_errors[0])
    return error.message
