"""What the OpenAPI document says of users: the schema of UserSerializer, and what several operations share."""

from typing import Any

import pycountry
from drf_spectacular.extensions import OpenApiSerializerExtension, OpenApiSerializerFieldExtension
from drf_spectacular.openapi import AutoSchema
from drf_spectacular.utils import Direction, OpenApiExample, OpenApiParameter

from partners.api import idempotency
from partners.api.errors import UnprocessableEntityError, invalid_parameter
from partners.api.schema import response_header
from users.api.serializer_fields import CONTROL, EXTERNAL_ID, NullableTextField
from users.services.addresses import rules_for

EXTERNAL_ID_IN_PATH = OpenApiParameter(
    "external_id",
    type=EXTERNAL_ID,
    location=OpenApiParameter.PATH,
    description="Your own identifier of the user, percent-encoded.",
    examples=[OpenApiExample("externalId", value="cust-1001")],
)
IDEMPOTENCY_KEY = OpenApiParameter(
    "Idempotency-Key",
    type={"type": "string", "format": "uuid", "pattern": "^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$"},
    location=OpenApiParameter.HEADER,
    description="A UUID of your own making. A retry of the same request with it within 24 hours gets the first response"
    " again, and nothing happens twice. It is line 5 of the canonical request.",
    examples=[OpenApiExample("Idempotency-Key", value="3f1c2b7e-8d4a-4c55-9b1e-6a7f0e2d9c10")],
)
REPLAYED = response_header(
    "Idempotent-Replayed",
    "true where this is a repetition of the first response to this Idempotency-Key.",
    "true",
    const="true",
    statuses=[200, 201],
    required=False,
)
LOCATION = response_header(
    "Location",
    "The user's path.",
    "/v1/users/cust-1001",
    pattern="^/v1/users/[A-Za-z0-9._~%-]+$",
    statuses=[201],
)
BAD_PATH = invalid_parameter("externalId", "Must not hold a slash.")
BAD_EMAIL = invalid_parameter("email", "Must be a valid email address.")
KEY_REUSED = invalid_parameter("Idempotency-Key", idempotency.KEY_REUSED)
TOO_YOUNG = UnprocessableEntityError("The user must be at least 18 years old.")

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
USER_SUMMARY = CREATED_USER | {"updatedAt": "2026-01-15T10:30:00.123456Z"}


class UserSchema(OpenApiSerializerExtension):  # type: ignore[no-untyped-call]
    """Makes three components of UserSerializer: the body of a create, the body of an update, and the response."""

    target_class = "users.api.serializers.UserSerializer"

    def get_name(self, auto_schema: AutoSchema, direction: Direction) -> str:
        """The component's name."""
        if direction == "response":
            return "UserSummary"
        return "UserChanges" if self.target.partial else "NewUser"

    def map_serializer(self, auto_schema: AutoSchema, direction: Direction) -> dict[str, Any]:
        """The schema that drf-spectacular makes of all fields, reduced to those of this component."""
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
                field: {key: value for key, value in whole["properties"][field].items() if key not in _LEFT_OUT}
                for field in fields
            },
        }
        if not partial:
            schema["required"] = [field for field in fields if field in whole["required"]]
        if direction == "request":
            schema["additionalProperties"] = False
        # Not in an allOf: generators of code make an intersection of types of that, rather than one plain object.
        return schema | _address_in("CA") | {"else": _address_in("US")} if name == "NewUser" else schema


_DESCRIPTIONS = {
    "NewUser": "White space around a text is taken off, but for externalId.",
    "UserChanges": "What to change, and nothing else. The user that this would leave behind is checked as a new one is:"
    " a new country needs the province and postal code that go with it.",
    "UserSummary": "Where a user stands.",
}
# A component for one direction needs no such marks, and a default would be wrong for an update.
_LEFT_OUT = {"readOnly", "writeOnly", "default"}


class TextSchema(OpenApiSerializerFieldExtension):  # type: ignore[no-untyped-call]
    """The schema of texts: no control character, and where they must not be empty, one that is no white space."""

    target_class = "users.api.serializer_fields.TextField"
    match_subclasses = True

    def map_serializer_field(self, auto_schema: AutoSchema, direction: Direction) -> dict[str, Any]:
        """The schema by the field's lengths."""
        field, any_text = self.target, f"[^{CONTROL}]*"
        return {
            "type": ["string", "null"] if isinstance(field, NullableTextField) else "string",
            "minLength": field.min_length,
            "maxLength": field.max_length,
            "pattern": f"^{any_text}[^\\s{CONTROL}]{any_text}$" if field.min_length else f"^{any_text}$",
        }


class CountrySchema(OpenApiSerializerFieldExtension):  # type: ignore[no-untyped-call]
    """The schema of countries, whose list is read when the document is made and not when the program starts."""

    target_class = "users.api.serializer_fields.CountryField"

    def map_serializer_field(self, auto_schema: AutoSchema, direction: Direction) -> dict[str, Any]:
        """All codes of ISO 3166-1."""
        return {"type": "string", "enum": sorted(country.alpha_2 for country in pycountry.countries)}


def _address_in(country: str) -> dict[str, Any]:
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
