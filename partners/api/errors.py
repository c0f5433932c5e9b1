"""The errors of the API (contract, section 1)."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import structlog
from rest_framework import exceptions
from rest_framework.settings import api_settings

from core.database import errors
from core.refusals import RefusedError
from core.request_context import request_context
from partners.api.response import JsonResponse, encode
from partners.authentication.signature_authentication import REALM, SecretLostError, SignatureRefusedError
from partners.authentication.signatures import NotUtf8Error

log = structlog.get_logger("partners.errors")

# Of the log line of a request with many invalid fields.
MAX_CAUSE_LENGTH = 300
NAME_LENGTH_IN_ERRORS = 100
# DRF's codes that are other ones on the wire.
_CODES = {"null": "type"}


class FieldError(NamedTuple):
    """A problem with a field, parameter or header, by its name on the wire. code: for programs."""

    field: str
    message: str
    code: str


class ApiError(exceptions.APIException):
    """An error response. message: for people; never contains request data, SQL, file paths or secrets."""

    status_code = 500
    code = "internal_error"
    default_detail = ""

    headers: Mapping[str, str] = {}
    detail: Any
    # Of a bad_request, and of a sandbox key in force that is unauthorized (contract, section 11).
    field_errors: Sequence[FieldError] | None = None
    diagnosis: Mapping[str, str] | None = None

    def __init__(self, message: str = "") -> None:
        self.message = self.detail = message or self.default_detail
        Exception.__init__(self, self.message)

    def body(self) -> dict[str, object]:
        """The error object."""
        body: dict[str, object] = {"error": self.code, "message": self.message}
        if self.field_errors is not None:
            body["fieldErrors"] = [one._asdict() for one in self.field_errors]
        if self.diagnosis is not None:
            body["diagnosis"] = self.diagnosis
        return body | {"requestId": request_context.request_id or ""}

    def cause(self) -> str | None:
        """What was wrong, for the log: never what a partner sent."""
        return None


class BadRequestError(ApiError):
    """The body or a parameter is not valid; all failing fields are named at once. status: 405, 413 and 415 too."""

    status_code = 400
    code = "bad_request"
    default_detail = "Invalid request: see fieldErrors."
    field_errors: Sequence[FieldError]

    def __init__(self, message: str = "", field_errors: Sequence[FieldError] = (), *, status: int = 400) -> None:
        super().__init__(message)
        self.field_errors, self.status_code = field_errors, status

    def cause(self) -> str:
        """The code of each field and its name, but of a name that the partner made up; the message without any."""
        invented = {"unknown", "duplicate"}
        named = (one.code if one.code in invented else f"{one.field} {one.code}" for one in self.field_errors)
        return ", ".join(dict.fromkeys(named))[:MAX_CAUSE_LENGTH] or self.message


def invalid_parameter(field: str, message: str, code: str = "format") -> BadRequestError:
    """A bad_request for one parameter or header."""
    return BadRequestError(field_errors=[FieldError(field, message, code)])


class MethodNotAllowedError(BadRequestError):
    """The path does not support this method."""

    def __init__(self, allowed: str) -> None:
        super().__init__("Method not allowed: see Allow.", status=405)
        self.headers = {"Allow": allowed}


class UnauthorizedError(ApiError):
    """The caller is not authenticated."""

    status_code = 401
    code = "unauthorized"
    default_detail = "Invalid API key or signature."
    headers: Mapping[str, str] = {"WWW-Authenticate": REALM}


class NotFoundError(ApiError):
    """The path does not exist, or the partner has no such user, webhook or the like."""

    status_code = 404
    code = "not_found"

    def cause(self) -> str:
        """The message, which says what was not found."""
        return self.message


class ConflictError(ApiError):
    """It conflicts with what exists, such as a user with this externalId."""

    status_code = 409
    code = "conflict"


class UnprocessableEntityError(ApiError):
    """The user is under 18."""

    status_code = 422
    code = "unprocessable_entity"


class TooManyRequestsError(ApiError):
    """The partner's rate limit is exceeded."""

    status_code = 429
    code = "too_many_requests"
    default_detail = "Rate limit exceeded: see Retry-After."

    def __init__(self, retry_after: int) -> None:
        super().__init__()
        self.headers = {"Retry-After": str(retry_after)}


class InternalError(ApiError):
    """An unexpected failure; the request had no effect."""

    default_detail = "Internal error."


class UnavailableError(ApiError):
    """The database is unreachable or did not respond in time; the request had no effect."""

    status_code = 503
    default_detail = "Service unavailable."
    headers: Mapping[str, str] = {"Retry-After": "2"}


def exception_handler(exception: Exception, _context: object) -> JsonResponse:
    """DRF's EXCEPTION_HANDLER: the response to any exception. An unexpected one is logged, and not disclosed."""
    error = _api_error(exception)
    is_expected = isinstance(exception, (ApiError, SecretLostError))
    if not is_expected and error.status_code >= InternalError.status_code:
        log.error("request failed", status=error.status_code, sqlstate=errors.sqlstate(exception), exc_info=exception)
    request_context.refusal = error.cause()
    return JsonResponse(error.status_code, encode(error.body()), error.headers)


def field_errors(detail: Any, path: str = "") -> Iterator[FieldError]:
    """The errors of a serializer, by the name of their field in the body, such as items[0].from.amount."""
    if not isinstance(detail, Mapping):
        yield from (FieldError(path, one, _CODES.get(one.code, one.code)) for one in detail)
        return
    for name, found in detail.items():
        below = path
        if isinstance(name, int):
            below = f"{path}[{name}]"
        elif name != api_settings.NON_FIELD_ERRORS_KEY:
            # A partner's name is cut, and has no lone surrogates, which UTF-8 cannot encode.
            shown = name[:NAME_LENGTH_IN_ERRORS].encode(errors="replace").decode()
            below = f"{path}.{shown}" if path else shown
        yield from field_errors(found, below)


def _api_error(exception: Exception) -> ApiError:  # noqa: PLR0911 - one for each exception
    match exception:
        case ApiError():
            return exception
        case RefusedError():
            return ConflictError(str(exception))
        case exceptions.Throttled():
            return TooManyRequestsError(int(getattr(exception, "wait", None) or 1))
        case exceptions.ValidationError():
            return BadRequestError(field_errors=list(field_errors(exception.detail)))
        case NotUtf8Error():
            return BadRequestError(str(exception))
        case SignatureRefusedError():
            error = UnauthorizedError(exception.message)
            error.diagnosis = exception.diagnosis
            return error
    is_read_only = errors.sqlstate(exception) == errors.READ_ONLY
    is_unavailable = isinstance(exception, SecretLostError) or errors.is_unreachable(exception) or is_read_only
    return UnavailableError() if is_unavailable else InternalError()
