"""A user on the wire and in the table: the one place where camelCase meets snake_case."""

from collections.abc import Callable
from typing import Any

from django.core.exceptions import ValidationError as DjangoValidationError
from rest_framework import serializers

from partners.api.errors import ApiError, UnprocessableEntityError
from partners.api.serializers import Errors, StrictSerializer
from users.addresses import rules_for
from users.adulthood import ADULT_YEARS, is_adult
from users.fields import today
from users.models import User
from users.queries import StoredUser, UserSummary
from users.serializer_fields import (
    CountryField,
    DateOfBirthField,
    EmailField,
    ExternalIdField,
    InstantField,
    NullableTextField,
    StrictBooleanField,
    TextField,
)

UNDER_AGE = "under_age"


class UserSerializer(StrictSerializer[StoredUser | UserSummary | User]):
    """Checks the body of a create (`data=`) or of an update (`stored, data=, partial=True`); shows a user.

    `data` is what read and update answer: personal data is write-only. Contract, sections 2 and 9.
    """

    create_only_fields = frozenset({"externalId"})

    userId = serializers.CharField(source="id", read_only=True)
    externalId = ExternalIdField(source="external_id")
    status = serializers.CharField(read_only=True)
    updatedAt = InstantField(source="updated_at", read_only=True)

    email = EmailField(write_only=True)
    firstName = TextField(source="first_name", max_length=100, write_only=True)
    lastName = TextField(source="last_name", max_length=100, write_only=True)
    dateOfBirth = DateOfBirthField(source="date_of_birth", write_only=True)
    addressLine1 = TextField(source="address_line1", max_length=200, write_only=True)
    addressLine2 = NullableTextField(source="address_line2", min_length=0, max_length=200, default="", write_only=True)
    city = TextField(max_length=100, write_only=True)
    # The country decides whether these two are required.
    postalCode = TextField(source="postal_code", min_length=0, max_length=16, default="", write_only=True)
    province = TextField(min_length=0, max_length=100, default="", write_only=True)
    country = CountryField(write_only=True)
    occupation = TextField(max_length=100, write_only=True)
    isCiroAffiliate = StrictBooleanField(source="is_ciro_affiliate", write_only=True)

    def validate_together(self, values: dict[str, Any], errors: Errors) -> None:
        """Checks postal code and province against the country of the user that would be left behind."""
        country = values.get("country") or getattr(self.instance, "country", None)
        if country is None or "country" in errors:
            return
        rules = rules_for(country)
        for name, column, rule in (
            ("postalCode", "postal_code", rules.postal_code),
            ("province", "province", rules.province),
        ):
            if name in errors:
                continue
            if column in values:
                try:
                    values[column] = rule(values[column])
                except DjangoValidationError as error:
                    errors[name] = error.messages
            elif self.instance and "country" in values and not _fits(rule, getattr(self.instance, column)):
                # Errors name what was sent.
                errors.setdefault("country", [f"Does not fit the user's {name}: send both."])

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """Refuses a minor. `api_error()` makes that a 422."""
        born = attrs.get("date_of_birth")
        if born and not is_adult(born=born, on=today()):
            message = f"The user must be at least {ADULT_YEARS} years old."
            raise serializers.ValidationError({"dateOfBirth": [message]}, code=UNDER_AGE)
        return attrs

    def api_error(self) -> ApiError:
        """The answer for `errors`: UnprocessableEntityError for a minor, else BadRequestError."""
        for message in self.errors.get("dateOfBirth", ()):
            if message.code == UNDER_AGE:
                return UnprocessableEntityError(message)
        return super().api_error()


def _fits(rule: Callable[[str], str], stored: str) -> bool:
    try:
        return rule(stored) == stored
    except DjangoValidationError:
        return False
