"""Users as JSON: the fields in camelCase, and their columns."""

from collections.abc import Callable
from typing import Any

from django.core.exceptions import ValidationError as DjangoValidationError
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers
from rest_framework.exceptions import ErrorDetail
from rest_framework.fields import get_error_detail

from partners.api.errors import ApiError, UnprocessableEntityError
from partners.api.pagination import MAX_LIMIT
from partners.api.rule_fields import RuleField, TextField
from partners.api.serializers import Errors, InstantField, RowSerializer, StrictSerializer
from users.api.pagination import CURSOR
from users.api.requirement_serializers import RequirementSerializer
from users.api.serializer_fields import ExternalIdField, NullableTextField
from users.models import Status, User
from users.models.columns import PROFILE_COLUMNS, Profile
from users.models.requirement_triggers import MAX_REQUIREMENTS
from users.models.status_reasons import StatusReason, status_reason
from users.profile import field_rules
from users.profile.addresses import rules_for
from users.queries import ListedUser, NewUser, UserSummary

UNDER_AGE = "under_age"

USER_ID_HELP = "The service's identifier of the user, a UUID."
STATUS_HELP = "The status of the user, which compliance alone changes."
UPDATED_AT_HELP = "When the profile or the status last changed."


@extend_schema_field({"type": ["string", "null"], "enum": [*StatusReason.values, None]})
class StatusReasonField(serializers.Field[Any, Any, Any, Any]):
    """Why a user has its status, as far as a partner may be told."""

    def __init__(self, **kwargs: Any) -> None:
        kwargs.setdefault(
            "help_text",
            "Why the user has this status, as far as you may be told; null: the user waits for a decision. Values may"
            " be added.",
        )
        super().__init__(**kwargs)

    def to_representation(self, value: UserSummary) -> str | None:
        return status_reason(value.status, value.status_reason_code)


def _text(column: str, *, help_text: str, kind: type[TextField] = TextField) -> TextField:
    """The field of a text column, with its length; one that may be blank is optional, and the empty text removes it."""
    stored: Any = User._meta.get_field(column)  # noqa: SLF001 - Django's public name for it
    # DRF refuses a source that is the field's name.
    options: dict[str, Any] = {"source": column} if "_" in column else {}
    if stored.blank:
        options |= {"min_length": 0, "default": ""}
    return kind(max_length=stored.max_length, write_only=True, help_text=help_text, **options)


class UserSerializer(StrictSerializer[Profile | UserSummary]):
    """Validates the body of a create (`data=`) or of an update (`profile, data=, partial=True`); shows a user.

    Personal data is write-only. Contract, sections 2 and 9.
    """

    create_only_fields = frozenset({"externalId"})

    userId = serializers.UUIDField(source="id", read_only=True, help_text=USER_ID_HELP)
    externalId = ExternalIdField(source="external_id")
    status = serializers.ChoiceField(Status.values, read_only=True, help_text=STATUS_HELP)
    statusReason = StatusReasonField(source="*", read_only=True)
    statusChangedAt = InstantField(
        source="status_since", read_only=True, help_text="When the status began; of a new user, the registration."
    )
    requirements = RequirementSerializer(
        many=True,
        read_only=True,
        help_text="What compliance needs from you, oldest first; empty if nothing.",
    )
    updatedAt = InstantField(source="updated_at", read_only=True, help_text=UPDATED_AT_HELP)

    email = RuleField(
        field_rules.email,
        schema={"type": "string", "format": "email", "minLength": 3, "maxLength": field_rules.EMAIL_LENGTH},
        write_only=True,
        help_text="The user's e-mail address, of a public domain. No mail is sent to it.",
    )
    firstName = _text("first_name", help_text="The given names, as in the user's papers.")
    lastName = _text("last_name", help_text="The family name, as in the user's papers.")
    dateOfBirth = RuleField(
        field_rules.date_of_birth,
        schema={"type": "string", "format": "date"},
        source="date_of_birth",
        write_only=True,
        help_text=f"The birth date, YYYY-MM-DD, from {field_rules.EARLIEST_BIRTH} on. A user younger than"
        f" {field_rules.ADULT_YEARS} is refused with 422.",
    )
    addressLine1 = _text("address_line1", help_text="Number and street of the home address.")
    addressLine2 = _text(
        "address_line2",
        help_text="The rest of the home address, such as a suite. null and the empty text both mean none.",
        kind=NullableTextField,
    )
    city = _text("city", help_text="The city of the home address.")
    # The country decides whether these two are required.
    postalCode = _text(
        "postal_code",
        help_text="The postal code, in the form of the country and in any letter case. The table of countries"
        " (/docs/countries) has the forms, and says where one is required.",
    )
    province = _text(
        "province",
        help_text="The province, state or other subdivision: its code, such as `ON` or `NY`, in any letter case. The"
        " table of countries (/docs/countries) has the codes, and says where one is required. Where it lists none for"
        " the country, any text is accepted.",
    )
    country = RuleField(
        field_rules.country,
        schema={"type": "string", "enum": sorted(field_rules.COUNTRY_CODES)},
        write_only=True,
        help_text="The country of the home address: its two-letter code (ISO 3166-1 alpha-2), in any letter case.",
    )
    occupation = _text("occupation", help_text="What the user does for a living.")
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
        # The stored address belongs to the stored country, whatever the libraries' data says today.
        is_moved = self.instance is not None and country != getattr(self.instance, "country", None)
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
            elif is_moved and not _is_stored_form(rule, getattr(self.instance, column)):
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
    updatedAt = InstantField(source="updated_at", help_text=UPDATED_AT_HELP)
    openRequirements = serializers.IntegerField(
        source="open_requirements",
        min_value=0,
        max_value=MAX_REQUIREMENTS,
        help_text="How many requirements wait for your answer.",
    )


class StatusChangedSerializer(serializers.Serializer[Any]):
    """The data of user.statusChanged."""

    userId = serializers.UUIDField(help_text=USER_ID_HELP)
    externalId = ExternalIdField()
    status = serializers.ChoiceField(Status.values, help_text=STATUS_HELP)
    statusReason = StatusReasonField()
    updatedAt = InstantField(help_text=UPDATED_AT_HELP)


class UserErasedSerializer(serializers.Serializer[Any]):
    """The user that is no more: its records have reached the end of their retention."""

    userId = serializers.UUIDField(help_text=USER_ID_HELP)
    externalId = ExternalIdField()


class RequirementsChangedSerializer(serializers.Serializer[Any]):
    """The data of user.requirementsChanged."""

    userId = serializers.UUIDField(help_text=USER_ID_HELP)
    externalId = ExternalIdField()
    openRequirements = serializers.IntegerField(
        min_value=0, max_value=MAX_REQUIREMENTS, help_text="How many requirements wait for your answer now."
    )
    openedRequirementId = serializers.UUIDField(
        allow_null=True, help_text="The requirement that compliance opened; null if it closed some."
    )


class UserPageSerializer(serializers.Serializer[Any]):
    """A page of users."""

    # UserPagination writes it.
    nextCursor = serializers.RegexField(
        CURSOR.pattern,
        allow_null=True,
        help_text="The cursor of the next page, to be sent back unchanged; null on the last page.",
    )
    items = serializers.ListField(
        child=ListedUserSerializer(), max_length=MAX_LIMIT, help_text="The users of this page, newest first."
    )


class CreatedUserSerializer(RowSerializer[NewUser]):
    """A registered user."""

    userId = serializers.UUIDField(source="id", help_text=USER_ID_HELP)
    externalId = ExternalIdField(source="external_id")
    # The status of every new user.
    status = serializers.ChoiceField([Status.PENDING_COMPLIANCE.value], help_text=STATUS_HELP)
