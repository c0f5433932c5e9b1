"""Users and requirements as JSON: the fields in camelCase, and their columns. Contract, sections 2, 9 and 13."""

from collections.abc import Callable, Mapping
from collections.abc import Set as AbstractSet
from functools import partial
from typing import Any

from django.core.exceptions import ValidationError
from orjson import Fragment
from rest_framework import serializers
from rest_framework.exceptions import ErrorDetail
from rest_framework.fields import empty, get_error_detail

from core import json_rules
from partners.api.errors import UnprocessableEntityError
from partners.api.serializers import Errors, RuleField, StrictSerializer, TextField
from users.models import Requirement, User
from users.models.columns import FIELD_NAMES, Profile
from users.models.requirements import RESPONSE_LENGTH
from users.models.statuses import status_reason
from users.profile import field_rules
from users.profile.addresses import rules_for
from users.queries import UserSummary


def asked_json(requirement: Requirement) -> dict[str, object]:
    """What compliance needs about a user."""
    return {
        "code": requirement.code,
        "fields": [FIELD_NAMES[column] for column in requirement.fields],
        "message": requirement.message or None,
    }


def requirement_json(requirement: Any) -> dict[str, object]:
    """A requirement on the wire. requirement: with its `state`."""
    return {
        "requirementId": requirement.pk,
        **asked_json(requirement),
        "state": requirement.state,
        "createdAt": requirement.created_at,
        "dueAt": requirement.due_at,
    }


class RequirementNoteSerializer(StrictSerializer[Any]):
    """A partner's note on a requirement."""

    note = RuleField(partial(json_rules.text_of_lines, longest=RESPONSE_LENGTH))


class UnchangeableField(serializers.Field[Any, Any, Any, Any]):
    """A field that an update refuses."""

    def run_validation(self, data: Any = empty) -> Any:
        """Raises ValidationError."""
        raise serializers.ValidationError(f"{self.field_name} cannot be changed.", "notAllowed")


def _text(column: str, **options: Any) -> TextField:
    """The field of a text column, with its length; one that may be blank is optional, and the empty text removes it."""
    stored: Any = User._meta.get_field(column)  # noqa: SLF001 - Django's public name for it
    # DRF refuses a source that is the field's name.
    options |= {"source": column} if "_" in column else {}
    if stored.blank:
        options |= {"min_length": 0, "default": ""}
    return TextField(max_length=stored.max_length, **options)


class ProfileSerializer(StrictSerializer[Profile]):
    """Personal data, which is never shown: contract, section 2."""

    email = RuleField(field_rules.email)
    firstName = _text("first_name")
    lastName = _text("last_name")
    dateOfBirth = RuleField(field_rules.date_of_birth, source="date_of_birth")
    addressLine1 = _text("address_line1")
    addressLine2 = _text("address_line2", allow_null=True)
    city = _text("city")
    # The country decides whether these two are required.
    postalCode = _text("postal_code")
    province = _text("province")
    country = RuleField(field_rules.country)
    occupation = _text("occupation")
    isCiroAffiliate = RuleField(
        field_rules.boolean, source="is_ciro_affiliate", error_messages={"null": "Must be true or false."}
    )

    def validate_addressLine2(self, value: str | None) -> str:  # noqa: N802 - DRF's name for a field of this name
        return value or ""

    def get_fields(self) -> dict[str, Any]:
        """The declared fields, externalId first."""
        fields = super().get_fields()
        return {"externalId": fields.pop("externalId"), **fields}

    def validated_columns(self, data: Mapping[str, Any], stored: Profile | None = None) -> dict[str, Any]:
        """The values of a body by column. stored: the profile that an update changes.

        Raises DRF's ValidationError, UnprocessableEntityError for a minor.
        """
        values, errors = self.check_fields(data)
        _check_address(data, values, errors, stored)
        self.raise_errors(errors)
        born = values.get("date_of_birth")
        if born and field_rules.adult_on(born) > field_rules.today():
            raise UnprocessableEntityError(f"The user must be at least {field_rules.ADULT_YEARS} years old.")
        return values


class UserCreateSerializer(ProfileSerializer):
    """The body of a create."""

    externalId = RuleField(field_rules.external_id, source="external_id")

    def new_user(self, data: Mapping[str, Any]) -> tuple[str, Profile]:
        """The externalId and the profile. Raises DRF's ValidationError, UnprocessableEntityError."""
        values = self.validated_columns(data)
        return values.pop("external_id"), Profile(**values)


class UserUpdateSerializer(ProfileSerializer):
    """The body of an update, which has any of the fields."""

    externalId = UnchangeableField()

    def updated(self, data: Mapping[str, Any], stored: Profile) -> tuple[Profile, AbstractSet[str]]:
        """The profile that an update leaves behind, and the columns that it has. Raises as validated_columns."""
        values = self.validated_columns(data, stored)
        return stored._replace(**values), values.keys()


# DRF copies the declared fields of each serializer, which takes 170 µs for a user, of which validation takes 75. These
# have no state.
CREATE, UPDATE = UserCreateSerializer(), UserUpdateSerializer(partial=True)


def _check_address(data: Mapping[str, Any], values: dict[str, Any], errors: Errors, stored: Profile | None) -> None:
    """Validate postal code and province against the country that the user will have, and put them into stored form."""
    country = values.get("country") or (stored and stored.country)
    if country is None or "country" in errors:
        return
    rules, unfit = rules_for(country), []
    # The stored address belongs to the stored country, whatever the libraries' data says today.
    is_moved = stored is not None and country != stored.country
    for name, column, rule in (
        ("postalCode", "postal_code", rules.postal_code),
        ("province", "province", rules.province),
    ):
        if name in errors:
            continue
        if column in values:
            try:
                values[column] = rule(values[column])
            except ValidationError as error:
                errors[name] = [
                    detail if name in data else ErrorDetail(detail, "required") for detail in get_error_detail(error)
                ]
        elif is_moved and not _is_stored_form(rule, getattr(stored, column)):
            unfit.append(name)
    if unfit:
        # Errors name only the fields that were sent.
        missing = "its new value" if len(unfit) == 1 else "their new values"
        message = f"Does not match the user's {' and '.join(unfit)}: send {missing} too."
        errors["country"] = [ErrorDetail(message, "inconsistent")]


def _is_stored_form(rule: Callable[[str], str], stored: str) -> bool:
    try:
        return rule(stored) == stored
    except ValidationError:
        return False


def user_json(user: UserSummary) -> dict[str, object]:
    """A user on the wire, without personal data: contract, sections 9, 13 and 15."""
    return {
        "userId": user.id,
        "externalId": user.external_id,
        "status": user.status,
        "statusReason": status_reason(user.status, user.status_reason_code),
        "statusChangedAt": user.status_since,
        "requirements": [requirement_json(one) for one in user.requirements],
        "verification": Fragment(user.verification) if user.verification else None,
        "updatedAt": user.updated_at,
    }
