"""Serializer fields of a user. The rules that they apply are in users/services/field_rules.py."""

from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar

from django.db.models import TextChoices
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers
from rest_framework.fields import empty

from users.services import field_rules

Schema = dict[str, Any]

# Unicode category Cc, inside a character class.
CONTROL = r"\u0000-\u001f\u007f-\u009f"
EXTERNAL_ID: Schema = {
    "type": "string",
    "minLength": 1,
    "maxLength": field_rules.EXTERNAL_ID_LENGTH,
    # Not `.` and not `..`; no slash, no control character, no white space at either end. Not every reader of a schema
    # knows character classes by Unicode category, which would say it all.
    "pattern": rf"^(?!\.{{1,2}}$)[^\s/{CONTROL}](?:[^/{CONTROL}]*[^\s/{CONTROL}])?$",
}


class RuleField(serializers.Field[Any, Any, Any, Any]):
    """A JSON value that a rule checks and normalises, without converting its type.

    rule: takes the JSON value, raises Django's ValidationError. schema: of the OpenAPI document.
    """

    # In English whatever language is active; DRF translates its own texts.
    default_error_messages: ClassVar[dict[str, Any]] = {
        "required": "This field is required.",
        "null": "Must be a string.",
    }

    def __init__(self, rule: Callable[[Any], Any], *, schema: Schema, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.rule = rule
        extend_schema_field(schema)(self)  # type: ignore[type-var]  # sets an attribute

    def run_validation(self, data: Any = empty) -> Any:
        """DRF's; without its overhead of 8 µs for a user where a value was sent and there are no validators."""
        if data is None or data is empty or self.validators:
            return super().run_validation(data)
        return self.rule(data)

    def to_internal_value(self, data: Any) -> Any:
        return self.rule(data)

    def to_representation(self, value: Any) -> Any:
        return value


class TextField(RuleField):
    """A text of min_length to max_length code points, stripped of white space."""

    json_type: ClassVar[str | list[str]] = "string"

    def __init__(self, *, max_length: int, min_length: int = 1, **kwargs: Any) -> None:
        schema = {
            "type": self.json_type,
            "minLength": min_length,
            "maxLength": max_length,
            "pattern": f"^[^{CONTROL}]*[^\\s{CONTROL}][^{CONTROL}]*$" if min_length else f"^[^{CONTROL}]*$",
        }
        super().__init__(partial(field_rules.text, shortest=min_length, longest=max_length), schema=schema, **kwargs)


class NullableTextField(TextField):
    """A text for which null means the empty text."""

    json_type: ClassVar[str | list[str]] = ["string", "null"]

    def run_validation(self, data: Any = empty) -> Any:
        """Validate null as the empty text; DRF would not call the rule."""
        return super().run_validation("" if data is None else data)


class ChoiceField(RuleField):
    """A value of a TextChoices."""

    def __init__(self, choices: type[TextChoices], **kwargs: Any) -> None:
        rule = partial(field_rules.choice, among=choices)
        super().__init__(rule, schema={"type": "string", "enum": choices.values}, **kwargs)


class ExternalIdField(RuleField):
    """A partner's own identifier of a user."""

    def __init__(self, **kwargs: Any) -> None:
        description = (
            "Your own identifier of the user: letters, marks, numbers, punctuation, symbols (Unicode"
            " categories L, M, N, P, S) and plain spaces inside. Letter case counts."
        )
        super().__init__(field_rules.external_id, schema=EXTERNAL_ID | {"description": description}, **kwargs)
