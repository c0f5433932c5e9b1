"""Serializer fields that apply a rule to a JSON value. See core/formats/json_rules.py."""

from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar

from django.db.models import TextChoices
from rest_framework import serializers
from rest_framework.fields import empty

from core.formats import json_rules


class RuleField(serializers.Field[Any, Any, Any, Any]):
    """A JSON value that a rule checks and normalises, without converting its type.

    rule: takes the JSON value, raises Django's ValidationError.
    """

    # These are English whatever language is active; DRF translates its own texts.
    default_error_messages: ClassVar[dict[str, Any]] = {
        "required": "This field is required.",
        "null": "Must be a string.",
    }

    def __init__(self, rule: Callable[[Any], Any], **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.rule = rule

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
