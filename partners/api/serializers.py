"""Serializers and fields under /v1: strict, with all errors in one response. Shared rules: core/json_rules.py."""

from collections.abc import Callable, Mapping
from functools import cached_property, partial
from typing import Any, ClassVar, TypeVar

from django.core.exceptions import ValidationError as DjangoValidationError
from django.db.models import TextChoices
from rest_framework import serializers
from rest_framework.exceptions import ErrorDetail
from rest_framework.fields import SkipField, empty, get_error_detail
from rest_framework.settings import api_settings

from core import json_rules

Instance = TypeVar("Instance")
# A list of ErrorDetail by name; of a nested serializer or list such errors again, by name or index.
Errors = dict[str, Any]


class StrictSerializer(serializers.Serializer[Instance]):
    """A DRF serializer that also refuses unknown and, of a JsonObject, repeated fields; errors in the fields' order."""

    # The message where a nested serializer finds something else.
    not_an_object: ClassVar[str] = "Must be an object."

    @cached_property
    def fields_by_name(self) -> dict[str, serializers.Field[Any, Any, Any, Any]]:
        """The fields; DRF's own mapping makes two calls for each."""
        return dict(self.fields)

    @cached_property
    def _checks(self) -> list[tuple[str, serializers.Field[Any, Any, Any, Any], Callable[[Any], Any] | None]]:
        """The fields, each with the serializer's `validate_<field>`, if there is one."""
        return [(name, field, getattr(self, f"validate_{name}", None)) for name, field in self.fields_by_name.items()]

    def to_internal_value(self, data: Any) -> dict[str, Any]:
        """The values by source. Raises ValidationError."""
        values, errors = self.check_fields(data)
        self.raise_errors(errors)
        return values

    def check_fields(self, data: Any) -> tuple[dict[str, Any], Errors]:
        """The values of the valid fields, by source, and the errors, by field. Raises ValidationError for no object."""
        if not isinstance(data, Mapping):
            raise serializers.ValidationError({api_settings.NON_FIELD_ERRORS_KEY: [self.not_an_object]}, "type")
        values: dict[str, Any] = {}
        errors: Errors = {}
        fields = self.fields_by_name
        for name, field, validate in self._checks:
            if self.partial and name not in data:
                continue
            try:
                value = field.run_validation(data.get(name, empty))
                values[field.source or name] = validate(value) if validate else value
            except serializers.ValidationError as error:
                errors[name] = error.detail
            except DjangoValidationError as error:
                errors[name] = list(get_error_detail(error))
            except SkipField:  # not sent, and without a default
                continue
        for name in data.keys() - fields.keys():
            errors[name] = [ErrorDetail("Unknown field.", "unknown")]
        for name in getattr(data, "repeated", ()):
            errors[name] = [ErrorDetail("Duplicate field.", "duplicate")]
        return values, errors

    def raise_errors(self, errors: Errors) -> None:
        """Raise ValidationError for errors, if there are any."""
        if errors:
            known = [name for name in self.fields_by_name if name in errors]
            names = [*known, *sorted(errors.keys() - set(known))]
            raise serializers.ValidationError({name: errors[name] for name in names})


class RuleField(serializers.Field[Any, Any, Any, Any]):
    """A JSON value, of its own type. rule: checks and normalises it; raises Django's ValidationError."""

    # These are English whatever language is active; DRF translates its own texts.
    default_error_messages: ClassVar[dict[str, Any]] = {
        "required": "This field is required.",
        "null": "Must be a string.",
    }

    def __init__(self, rule: Callable[[Any], Any], **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.rule, self.is_plain = rule, not self.validators

    def run_validation(self, data: Any = empty) -> Any:
        """DRF's; without its overhead of 8 µs for a user where a value was sent and there are no validators."""
        if data is not None and data is not empty and self.is_plain:
            return self.rule(data)
        return super().run_validation(data)

    def to_internal_value(self, data: Any) -> Any:
        return self.rule(data)


class TextField(RuleField):
    """A text of min_length to max_length code points, stripped of white space."""

    def __init__(self, *, max_length: int, min_length: int = 1, **kwargs: Any) -> None:
        super().__init__(partial(json_rules.text, shortest=min_length, longest=max_length), **kwargs)


class ChoiceField(RuleField):
    """A value of a TextChoices."""

    def __init__(self, choices: type[TextChoices], **kwargs: Any) -> None:
        super().__init__(partial(json_rules.choice, among=choices), **kwargs)


class WholeNumberField(RuleField):
    """A whole number, not a text or a number with a fraction."""

    default_error_messages: ClassVar[dict[str, Any]] = {"null": "Must be a whole number."}

    def __init__(self, *, lowest: int, highest: int, **kwargs: Any) -> None:
        super().__init__(partial(json_rules.whole_number, lowest=lowest, highest=highest), **kwargs)


class ItemsField(serializers.ListField):
    """A list of min_length to max_length items."""

    default_error_messages: ClassVar[dict[str, Any]] = {"null": "Must be a list."}

    def to_internal_value(self, data: Any) -> list[Any]:
        if not isinstance(data, list):
            raise serializers.ValidationError("Must be a list.", "type")
        if not (self.min_length or 0) <= len(data) <= (self.max_length or len(data)):
            raise serializers.ValidationError(f"Must have {self.min_length} to {self.max_length} items.", "length")
        items: list[Any] = self.run_child_validation(data)
        return items
