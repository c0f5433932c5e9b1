"""Serializer fields of a user; the rule that each applies is in users/services/field_rules.py.

What the OpenAPI document says of a field is above its class, or, where that takes code, in users/api/schema.py.
"""

from datetime import date
from typing import Any, ClassVar

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers
from rest_framework.fields import empty

from users.services import field_rules

# Unicode category Cc, inside a character class.
CONTROL = r"\u0000-\u001f\u007f-\u009f"
EXTERNAL_ID: dict[str, Any] = {
    "type": "string",
    "minLength": 1,
    "maxLength": field_rules.EXTERNAL_ID_LENGTH,
    # Not `.` and not `..`; no slash, no control character, no white space at either end. Character classes by
    # Unicode category would say it all, but not every reader of a schema knows them.
    "pattern": rf"^(?!\.{{1,2}}$)[^\s/{CONTROL}](?:[^/{CONTROL}]*[^\s/{CONTROL}])?$",
}


class StrictField(serializers.Field[Any, Any, Any, Any]):
    """The base of fields that convert nothing: a JSON value of the right type, or an error."""

    # In English whatever language is active; DRF translates its own texts.
    default_error_messages: ClassVar[dict[str, Any]] = {
        "required": "This field is required.",
        "null": "Must be a string.",
    }

    def run_validation(self, data: Any = empty) -> Any:
        """What DRF does, by the short way where a value was sent and there are no validators: 8 µs less for a user."""
        if data is None or data is empty or self.validators:
            return super().run_validation(data)
        return self.to_internal_value(data)

    def to_representation(self, value: Any) -> Any:
        """The value as stored."""
        return value


class TextField(StrictField):
    """A text of min_length to max_length code points, without the white space around it."""

    def __init__(self, *, max_length: int, min_length: int = 1, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.min_length = min_length
        self.max_length = max_length

    def to_internal_value(self, data: Any) -> str:
        """The stripped text."""
        return field_rules.text(data, shortest=self.min_length, longest=self.max_length)


class NullableTextField(TextField):
    """A text that may be empty; null means the empty one."""

    def run_validation(self, data: Any = empty) -> Any:
        """Validates null as the empty text; DRF would give it to no rule."""
        return super().run_validation("" if data is None else data)


@extend_schema_field(
    EXTERNAL_ID
    | {
        "description": "Your own identifier of the user: letters, marks, numbers, punctuation, symbols (Unicode"
        " categories L, M, N, P, S) and plain spaces inside. Letter case counts."
    }
)
class ExternalIdField(StrictField):
    """A partner's own identifier of a user."""

    def to_internal_value(self, data: Any) -> str:
        """The identifier, exactly as sent."""
        return field_rules.external_id(data)


@extend_schema_field({"type": "string", "format": "email", "minLength": 3, "maxLength": field_rules.EMAIL_LENGTH})
class EmailField(StrictField):
    """An e-mail address."""

    def to_internal_value(self, data: Any) -> str:
        """The normalised address."""
        return field_rules.email(data)


@extend_schema_field({"type": "string", "format": "date", "pattern": r"^\d{4}-\d{2}-\d{2}$"})
class DateOfBirthField(StrictField):
    """A calendar date from 1900 to today."""

    def to_internal_value(self, data: Any) -> date:
        """The date."""
        return field_rules.date_of_birth(data)

    def to_representation(self, value: date) -> str:
        """YYYY-MM-DD."""
        return value.isoformat()


class CountryField(StrictField):
    """An ISO 3166-1 alpha-2 code in any letter case."""

    def to_internal_value(self, data: Any) -> str:
        """The code in upper case."""
        return field_rules.country(data)


@extend_schema_field(bool)
class StrictBooleanField(StrictField):
    """JSON's true or false; DRF's BooleanField takes "yes" and 1 too."""

    default_error_messages: ClassVar[dict[str, Any]] = {"null": "Must be true or false."}

    def to_internal_value(self, data: Any) -> bool:
        """The value itself."""
        return field_rules.boolean(data)
