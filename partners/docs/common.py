"""What the description says of every operation: signing, errors, headers (contract, sections 1, 3 and 5)."""

from collections.abc import Iterable
from typing import Any

from partners.api.authentication import NOT_VALID
from partners.api.description import Header, Schema, Shape
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
    invalid_fields,
)

REQUEST_ID = "4b0c7d1e-58a3-4d0c-9f0e-2f6a3c1b7d55"

# Joined: an operation needs them together.
SECURITY_SCHEMES: dict[str, dict[str, str]] = {
    "apiKey": {
        "type": "apiKey",
        "in": "header",
        "name": "X-Api-Key",
        "description": "The API key, as issued: it names the key whose secret signs.",
    },
    "timestamp": {
        "type": "apiKey",
        "in": "header",
        "name": "X-Request-Timestamp",
        "description": "When the request was signed: an RFC 3339 date-time with an offset or Z, line 4 of the"
        " canonical request. It may differ from the service's clock by 300 seconds either way, unless you were told"
        " otherwise.",
    },
    "signature": {
        "type": "apiKey",
        "in": "header",
        "name": "X-Request-Signature",
        "description": "The hex HMAC-SHA256 of the canonical request under the key's secret. The guide at /docs"
        " says how the canonical request is made.",
    },
}

HEADERS_OF_ALL = (
    Header(
        "X-Request-Id",
        "The request's id, made by the service: quote it to support.",
        {"type": "string", "format": "uuid"},
        REQUEST_ID,
    ),
    Header("Cache-Control", "Nothing may be kept by a cache.", {"type": "string", "const": "no-store"}, "no-store"),
)
HEADERS_OF_AUTHENTICATED = (
    Header(
        "RateLimit-Policy",
        "The limit: `q` requests in `w` seconds (draft-ietf-httpapi-ratelimit-headers-10).",
        {"type": "string", "pattern": '^"default";q=[0-9]+;w=[0-9]+$'},
        '"default";q=600;w=60',
        required=False,
    ),
    Header(
        "RateLimit",
        "What is left: `r` requests, for `t` more seconds.",
        {"type": "string", "pattern": '^"default";r=[0-9]+;t=[0-9]+$'},
        '"default";r=599;t=42',
        required=False,
    ),
)
# Answered before it is known who asks, always. (A 401 can come later: an update's signature that was used already.)
BEFORE_AUTHENTICATION = frozenset({BodyTooLargeError.status_code})
HEADERS_OF_ERRORS = {
    "WWW-Authenticate": Header(
        "WWW-Authenticate", "How to authenticate.", {"type": "string", "const": REALM}, REALM, required=True
    ),
    "Retry-After": Header(
        "Retry-After",
        "In how many seconds to try again.",
        {"type": "string", "pattern": "^[1-9][0-9]*$"},
        "17",
        required=True,
    ),
}


def errors_of_all(*, writes: bool) -> list[ApiError]:
    """The errors that any operation may answer with, those of a request with a body too where it `writes`."""
    errors: list[ApiError] = [
        UnauthorizedError(NOT_VALID),
        UnauthorizedError("Header X-Api-Key is missing."),
        TooManyRequestsError(17),
        InternalError(),
        UnavailableError(),
        BadRequestError("The query, percent-decoded, is not UTF-8."),
        BodyTooLargeError(),
    ]
    if writes:
        errors += [
            UnsupportedMediaTypeError(),
            BadRequestError("The body is not well-formed JSON in UTF-8."),
            invalid_fields([FieldError("Idempotency-Key", "Must be a UUID of 36 characters.")]),
        ]
    return errors


def statuses_by_header(errors: Iterable[ApiError]) -> dict[str, list[int]]:
    """Which errors carry which header of their own."""
    found: dict[str, list[int]] = {}
    for error in errors:
        for name in error.headers:
            if error.status_code not in found.setdefault(name, []):
                found[name].append(error.status_code)
    return found


def error_example(error: ApiError) -> dict[str, object]:
    """The body of an error, as the service would write it."""
    return error.body() | {"requestId": REQUEST_ID}


def summary(error: ApiError) -> str:
    """An error in a line: its message, or where it names fields, the first one and what is wrong with it."""
    if isinstance(error, BadRequestError) and error.field_errors:
        field, problem = error.field_errors[0]
        return f"{field}: {problem}"
    return error.message


def meaning(errors: Iterable[ApiError]) -> str:
    """When a status is answered, in the words of the errors' classes."""
    kinds = dict.fromkeys(type(error) for error in errors)
    return " ".join(str(kind.__doc__).split("\n\n")[0].replace("\n", " ") for kind in kinds)


_SHAPES: dict[str, Shape] = {}


def shape_of(kind: type[ApiError]) -> Shape:
    """The error object with this class's `error`: contract, section 1."""
    code = kind.code
    if code not in _SHAPES:
        name = "".join(word.capitalize() for word in code.split("_"))
        _SHAPES[code] = Shape(name, lambda: _error_schema(code, with_fields=issubclass(kind, BadRequestError)))
    return _SHAPES[code]


def _error_schema(code: str, *, with_fields: bool) -> Schema:
    properties: dict[str, Any] = {
        "error": {"type": "string", "enum": [code], "description": "What a program goes by."},
        "message": {"type": "string", "description": "For people; its words may change."},
        "requestId": {"type": "string", "format": "uuid", "description": "The same as X-Request-Id."},
    }
    if with_fields:
        properties["fieldErrors"] = {
            "type": "array",
            "items": FIELD_ERROR,
            "description": "Every field, parameter or header that is to blame; empty where none is.",
        }
    return {"type": "object", "required": list(properties), "properties": properties}


FIELD_ERROR = Shape(
    "FieldError",
    lambda: {
        "type": "object",
        "required": ["field", "message"],
        "properties": {
            "field": {"type": "string", "description": "Its name on the wire."},
            "message": {"type": "string", "description": "What is wrong with it; never what was sent."},
        },
    },
    {"field": "email", "message": "Must be a valid email address."},
)
