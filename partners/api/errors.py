"""The errors of the API: contract, section 1. Raised where they are found, made JSON in one place.

`error` is one of seven values; the class says which, and with what status.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import structlog
from django.http import Http404, HttpResponse
from rest_framework import exceptions
from rest_framework.exceptions import APIException

from partners.api.response import json_response
from partners.db import statements

log = structlog.get_logger("partners.errors")

REALM = 'HMAC-SHA256 realm="partner-service"'


class FieldError(NamedTuple):
    """What is wrong with one field or parameter, by its name on the wire."""

    field: str
    message: str


class ApiError(APIException):
    """An answer other than success.

    message: for people; it never holds what was sent, SQL, a path of the machine or a secret.
    headers: further header fields of the answer.
    """

    status_code = 500
    code = "internal_error"

    detail: Any

    def __init__(self, message: str, *, headers: Mapping[str, str] | None = None) -> None:
        Exception.__init__(self, message)
        self.message = message
        self.detail = message
        self.headers = dict(headers or {})

    def body(self) -> dict[str, object]:
        """The error object, but for its requestId."""
        return {"error": self.code, "message": self.message}


class BadRequestError(ApiError):
    """The body or a parameter does not hold what it must; all failing fields are named at once."""

    status_code = 400
    code = "bad_request"

    def __init__(
        self, message: str, field_errors: Sequence[FieldError] = (), *, headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(message, headers=headers)
        self.field_errors = field_errors

    def body(self) -> dict[str, object]:
        """The error object with its fieldErrors."""
        return super().body() | {"fieldErrors": [{"field": f.field, "message": f.message} for f in self.field_errors]}


def invalid_fields(field_errors: Sequence[FieldError]) -> BadRequestError:
    """The bad_request that names these fields."""
    return BadRequestError("The request is not valid: see fieldErrors.", field_errors)


def invalid_parameter(field: str, message: str) -> BadRequestError:
    """The bad_request that names one parameter or header."""
    return invalid_fields([FieldError(field, message)])


class MethodNotAllowedError(BadRequestError):
    """The path exists, but not with this method."""

    status_code = 405

    def __init__(self, allowed: Sequence[str]) -> None:
        super().__init__("This path does not take this method: see Allow.", headers={"Allow": ", ".join(allowed)})


class BodyTooLargeError(BadRequestError):
    """The body is over 64 KiB."""

    status_code = 413

    def __init__(self) -> None:
        super().__init__("The body is larger than 65536 bytes.")


class UnsupportedMediaTypeError(BadRequestError):
    """The body is not declared as JSON in UTF-8."""

    status_code = 415

    def __init__(self) -> None:
        super().__init__("Send Content-Type: application/json (with no charset but UTF-8).")


class UnauthorizedError(ApiError, exceptions.AuthenticationFailed):
    """The caller is not authenticated."""

    status_code = 401
    code = "unauthorized"

    def __init__(self, message: str) -> None:
        super().__init__(message, headers={"WWW-Authenticate": REALM})


class NotFoundError(ApiError):
    """No such path, or no such user for this partner."""

    status_code = 404
    code = "not_found"


class ConflictError(ApiError):
    """This partner already has a user with this externalId."""

    status_code = 409
    code = "conflict"


class UnprocessableEntityError(ApiError):
    """The user is under 18."""

    status_code = 422
    code = "unprocessable_entity"


class TooManyRequestsError(ApiError):
    """The partner's rate limit is used up.

    retry_after: whole seconds, at least 1.
    """

    status_code = 429
    code = "too_many_requests"

    def __init__(self, retry_after: int) -> None:
        super().__init__(
            "The rate limit is exceeded: try again after the seconds that Retry-After gives.",
            headers={"Retry-After": str(retry_after)},
        )


class InternalError(ApiError):
    """An unexpected failure; nothing has happened."""

    def __init__(self) -> None:
        super().__init__("Something failed here. Try again, or quote the requestId to support.")


class UnavailableError(ApiError):
    """The database cannot be reached or did not answer in time; nothing has happened."""

    status_code = 503

    def __init__(self) -> None:
        super().__init__("The service is not available right now. Try again shortly.", headers={"Retry-After": "2"})


READ_ONLY = "25006"  # PostgreSQL's read_only_sql_transaction


def exception_handler(failure: Exception, context: Mapping[str, Any]) -> HttpResponse:
    """The answer to an exception: DRF's EXCEPTION_HANDLER. The cause of an unexpected one goes to the log alone.

    context: DRF's; its view renders the answer.
    """
    error = _api_error(failure)
    if error is not failure and error.status_code >= InternalError.status_code:
        log.error("request failed", status=error.status_code, sqlstate=statements.sqlstate(failure), exc_info=failure)
    view, request = context["view"], context["request"]
    body = error.body() | {"requestId": getattr(request, "request_id", "")}
    return json_response(error.status_code, view.renderer.render(body), error.headers)


def _api_error(failure: Exception) -> ApiError:  # noqa: PLR0911 - one for each exception
    """The contract's form of an exception, DRF's own included."""
    match failure:
        case ApiError():
            return failure
        case Http404():
            return NotFoundError("Not found.")
        case exceptions.Throttled():
            return TooManyRequestsError(int(getattr(failure, "wait", None) or 1))
        case exceptions.UnsupportedMediaType():
            return UnsupportedMediaTypeError()
        case exceptions.ParseError():
            return BadRequestError("The body is not well-formed JSON in UTF-8.")
        case exceptions.NotAuthenticated() | exceptions.AuthenticationFailed():
            return UnauthorizedError("The API key or the signature is not valid.")
    # A database only reads during a failover.
    is_unavailable = statements.is_unreachable(failure) or statements.sqlstate(failure) == READ_ONLY
    return UnavailableError() if is_unavailable else InternalError()
