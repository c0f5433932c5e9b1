"""The OpenAPI document on users: the components of UserSerializer, and shared parameters and examples."""

from typing import Any
from uuid import UUID

from drf_spectacular.extensions import OpenApiSerializerExtension
from drf_spectacular.openapi import AutoSchema
from drf_spectacular.utils import Direction, OpenApiExample, OpenApiParameter

from partners.api import schema
from partners.api.errors import UnauthorizedError, invalid_parameter
from partners.api.idempotency import ALREADY_RECEIVED
from partners.api.pagination import NOT_A_CURSOR
from partners.api.schema import LIMIT, cursor_parameter, response_header
from users.api import errors
from users.api.pagination import CURSOR, NOT_A_STATUS
from users.api.serializer_fields import EXTERNAL_ID
from users.models import Status
from users.profile.addresses import rules_for

EXTERNAL_ID_IN_PATH = OpenApiParameter(
    "external_id",
    type=EXTERNAL_ID,
    location=OpenApiParameter.PATH,
    description="Your own identifier of the user, percent-encoded.",
    examples=[OpenApiExample("externalId", value="cust-1001")],
)
IDEMPOTENCY_KEY = OpenApiParameter(
    "Idempotency-Key",
    type=schema.IDEMPOTENCY_KEY,
    location=OpenApiParameter.HEADER,
    description="A UUID that you generate. A retry of the same request with it within 24 hours gets the first response"
    " again, without a second effect. It is line 5 of the canonical request.",
    examples=[OpenApiExample("Idempotency-Key", value="3f1c2b7e-8d4a-4c55-9b1e-6a7f0e2d9c10")],
)
REPLAYED = response_header(
    "Idempotent-Replayed",
    "true for a replay of the first response to this Idempotency-Key.",
    "true",
    const="true",
    statuses=[200, 201],
    required=False,
)
REQUIREMENT_ID_IN_PATH = OpenApiParameter(
    "requirement_id",
    type={"type": "string", "format": "uuid"},
    location=OpenApiParameter.PATH,
    description="The requirementId of one of the user's requirements.",
    examples=[OpenApiExample("requirementId", value="8a6e0f6c-5f0a-4d1c-9c55-2f6f0a7d9b31")],
)
USER_WRITE_PARAMETERS = [EXTERNAL_ID_IN_PATH, IDEMPOTENCY_KEY, REPLAYED]
REQUIREMENT_WRITE_PARAMETERS = [EXTERNAL_ID_IN_PATH, REQUIREMENT_ID_IN_PATH, IDEMPOTENCY_KEY, REPLAYED]
USER_WRITE_ERRORS = (
    errors.BAD_PATH,
    errors.KEY_REUSED,
    UnauthorizedError(ALREADY_RECEIVED),
    errors.user_not_found(),
)
LOCATION = response_header(
    "Location",
    "The user's path.",
    "/v1/users/cust-1001",
    pattern="^/v1/users/[A-Za-z0-9._~%-]+$",
    statuses=[201],
)

NEW_USER: dict[str, Any] = {
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
MOVED_HOUSE = {"addressLine1": "1 Elgin St", "city": "Ottawa", "postalCode": "K1P 5W1"}
CREATED_USER = {
    "userId": "92811e6e-0786-4030-88b7-5b6c5d6e82f4",
    "externalId": "cust-1001",
    "status": "pendingCompliance",
}
REQUIREMENT = {
    "requirementId": "8a6e0f6c-5f0a-4d1c-9c55-2f6f0a7d9b31",
    "code": "addressUnclear",
    "fields": ["addressLine1", "postalCode"],
    "message": "The postal code is not in the province.",
    "state": "open",
    "createdAt": "2026-01-15T10:30:00.123456Z",
    "dueAt": "2026-01-29T10:30:00.123456Z",
}
USER_SUMMARY = CREATED_USER | {
    "statusReason": None,
    "statusChangedAt": "2026-01-14T09:00:00.123456Z",
    "requirements": [REQUIREMENT],
    "updatedAt": "2026-01-15T10:30:00.123456Z",
}
ACTIVE_USER = USER_SUMMARY | {
    "status": "active",
    "statusReason": "verified",
    "statusChangedAt": "2026-01-15T10:30:00.123456Z",
    "requirements": [],
}

_CREATED_AT = "2026-01-14T09:00:00.123456Z"
LISTED_USER = CREATED_USER | {
    "createdAt": _CREATED_AT,
    "updatedAt": "2026-01-15T10:30:00.123456Z",
    "openRequirements": 1,
}
_CURSOR = CURSOR.write(_CREATED_AT, UUID(CREATED_USER["userId"]).int)
USER_PAGE = {"nextCursor": _CURSOR, "items": [LISTED_USER]}
LIST_PARAMETERS = [
    OpenApiParameter(
        "status",
        type={"type": "string", "enum": Status.values},
        description="Only users in this status. A cursor stays usable under another one.",
        examples=[OpenApiExample("status", value=Status.ACTIVE.value)],
    ),
    cursor_parameter(CURSOR.pattern, _CURSOR),
    LIMIT,
]
LIST_ERRORS = (
    invalid_parameter("cursor", NOT_A_CURSOR),
    invalid_parameter("status", NOT_A_STATUS, "notAllowed"),
)


class UserSchema(OpenApiSerializerExtension):  # type: ignore[no-untyped-call]
    """Maps UserSerializer to three components: the body of a create, the body of an update, and the response."""

    target_class = "users.api.serializers.UserSerializer"
    # It goes before StrictSchema.
    priority = 1

    def get_name(self, auto_schema: AutoSchema, direction: Direction) -> str:
        if direction == "response":
            return "UserSummary"
        return "UserChanges" if self.target.partial else "NewUser"

    def map_serializer(self, auto_schema: AutoSchema, direction: Direction) -> dict[str, Any]:
        """drf-spectacular's schema of all fields, reduced to those of this component."""
        name, partial = self.get_name(auto_schema, direction), self.target.partial
        whole = super().map_serializer(auto_schema, direction)
        fields = [
            field_name
            for field_name, field in self.target.fields.items()
            if not (field.read_only if direction == "request" else field.write_only)
            and not (partial and field_name in self.target.create_only_fields)
        ]
        schema: dict[str, Any] = {
            "type": "object",
            "description": _DESCRIPTIONS[name],
            "properties": {
                field: {key: value for key, value in whole["properties"][field].items() if key not in _OMITTED}
                for field in fields
            },
        }
        if not partial:
            schema["required"] = [field for field in fields if field in whole["required"]]
        if direction == "request":
            schema["additionalProperties"] = False
        # Code generators make an intersection of types of allOf, so there is none.
        return schema | _address_in("CA") | {"else": _address_in("US")} if name == "NewUser" else schema


_DESCRIPTIONS = {
    "NewUser": "As it is stored. Leading and trailing white space is removed, except from externalId, and country,"
    " province and postalCode are accepted in any letter case.",
    "UserChanges": "The fields to change. The user that results is validated like a new one: a new country needs its"
    " province and postal code.",
    "UserSummary": "The status of a user, why, and what compliance needs from you.",
}
# A component is for one direction, and an update has no defaults.
_OMITTED = {"readOnly", "writeOnly", "default"}


def _address_in(country: str) -> dict[str, Any]:
    """The rules for addresses in this country. Only two countries are in the document, to keep it readable."""
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
            # Linters would assume that the properties are complete.
            "additionalProperties": True,
        },
    }
