"""Users as JSON: the fields in camelCase, and their columns."""

from collections.abc import Callable
from typing import Any

from django.core.exceptions import ValidationError as DjangoValidationError
from rest_framework import serializers
from rest_framework.exceptions import ErrorDetail
from rest_framework.fields import empty, get_error_detail

from partners.api.errors import ApiError, UnprocessableEntityError
from partners.api.rule_fields import RuleField, TextField
from partners.api.serializers import Errors, InstantField, StrictSerializer
from users.api.requirement_serializers import RequirementSerializer
from users.models import User
from users.models.columns import PROFILE_COLUMNS, Profile
from users.models.statuses import status_reason
from users.profile import field_rules
from users.profile.addresses import rules_for
from users.queries import NewUser, UserSummary

UNDER_AGE = "under_age"


class NullableTextField(TextField):
    """A text for which null means the empty text."""

    def run_validation(self, data: Any = empty) -> Any:
        """Validate null as the empty text; DRF would not call the rule."""
        return super().run_validation("" if data is None else data)


class ExternalIdField(RuleField):
    """A partner's own identifier of a user."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(field_rules.external_id, **kwargs)


class StatusReasonField(serializers.Field[Any, Any, Any, Any]):
    """Why a user has its status, as far as a partner may be told."""

    def to_representation(self, value: UserSummary) -> str | None:
        return status_reason(value.status, value.status_reason_code)


def _text(column: str, *, kind: type[TextField] = TextField) -> TextField:
    """The field of a text column, with its length; one that may be blank is optional, and the empty text removes it."""
    stored: Any = User._meta.get_field(column)  # noqa: SLF001 - Django's public name for it
    # DRF refuses a source that is the field's name.
    options: dict[str, Any] = {"source": column} if "_" in column else {}
    if stored.blank:
        options |= {"min_length": 0, "default": ""}
    return kind(max_length=stored.max_length, write_only=True, **options)


class UserSerializer(StrictSerializer[Profile | UserSummary]):
    """Validates the body of a create (`data=`) or of an update (`profile, data=, partial=True`); shows a user.

    Personal data is write-only. Contract, sections 2 and 9.
    """

    create_only_fields = frozenset({"externalId"})

    userId = serializers.UUIDField(source="id", read_only=True)
    externalId = ExternalIdField(source="external_id")
    status = serializers.CharField(read_only=True)
    statusReason = StatusReasonField(source="*", read_only=True)
    statusChangedAt = InstantField(source="status_since", read_only=True)
    requirements = RequirementSerializer(many=True, read_only=True)
    updatedAt = InstantField(source="updated_at", read_only=True)

    email = RuleField(field_rules.email, write_only=True)
    firstName = _text("first_name")
    lastName = _text("last_name")
    dateOfBirth = RuleField(field_rules.date_of_birth, source="date_of_birth", write_only=True)
    addressLine1 = _text("address_line1")
    addressLine2 = _text("address_line2", kind=NullableTextField)
    city = _text("city")
    # The country decides whether these two are required.
    postalCode = _text("postal_code")
    province = _text("province")
    country = RuleField(field_rules.country, write_only=True)
    occupation = _text("occupation")
    isCiroAffiliate = RuleField(
        field_rules.boolean,
        source="is_ciro_affiliate",
        write_only=True,
        error_messages={"null": "Must be true or false."},
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


class CreatedUserSerializer(serializers.BaseSerializer[NewUser]):
    """A registered user."""

    def to_representation(self, instance: NewUser) -> dict[str, str]:
        """The user on the wire."""
        return {"userId": instance.id, "externalId": instance.external_id, "status": instance.status}
