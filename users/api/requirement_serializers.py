"""Requirements as JSON: contract, section 13."""

from functools import partial
from typing import Any

from django.core.exceptions import ValidationError
from rest_framework import serializers
from rest_framework.fields import empty

from core.formats import json_rules
from partners.api.serializers import (
    ChoiceField,
    InstantField,
    ItemsField,
    RuleField,
    StrictSerializer,
    WholeNumberField,
)
from users.models import RequirementCode, RequirementState
from users.models.columns import FIELD_NAMES
from users.models.requirements import MAX_DUE_DAYS, MESSAGE_LENGTH, RESPONSE_LENGTH
from users.requirements.lifecycle import DEFAULT_DUE_DAYS
from users.requirements.wording import forbidden_words, hidden_parts

_COLUMNS = {name: column for column, name in FIELD_NAMES.items()}


class FieldNamesField(serializers.Field[Any, Any, Any, Any]):
    """Columns of the profile as names of fields."""

    def to_representation(self, value: list[str]) -> list[str]:
        return [FIELD_NAMES[column] for column in value]


class MessageField(serializers.CharField):
    """A text; null where there is none."""

    def to_representation(self, value: str) -> str | None:  # type: ignore[override]
        return value or None


class RequirementSerializer(serializers.Serializer[Any]):
    """What compliance needs about a user."""

    requirementId = serializers.UUIDField(source="id")
    code = serializers.ChoiceField(RequirementCode.values)
    fields = FieldNamesField()  # type: ignore[assignment]  # DRF keeps its own attribute of this name
    message = MessageField()
    state = serializers.ChoiceField(RequirementState.values)
    createdAt = InstantField(source="created_at")
    dueAt = InstantField(source="due_at")


class RequirementNoteSerializer(StrictSerializer[Any]):
    """A partner's note on a requirement."""

    note = RuleField(partial(json_rules.text_of_lines, longest=RESPONSE_LENGTH))


class FieldNameField(RuleField):
    """The name of a field that an update takes, as its column."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(_column, **kwargs)


def _column(value: Any) -> str:
    name = json_rules.clean_text(value)
    if name not in _COLUMNS:
        raise ValidationError(f"Must be one of: {', '.join(_COLUMNS)}.", code="notAllowed")
    return _COLUMNS[name]


class OptionalMessageField(RuleField):
    """What compliance says to the partner; null means nothing."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(_message, default="", **kwargs)

    def run_validation(self, data: Any = empty) -> Any:
        """Validate null as the empty text; DRF would not call the rule."""
        return super().run_validation("" if data is None else data)


def _message(value: Any) -> str:
    message = json_rules.text_of_lines(value, shortest=0, longest=MESSAGE_LENGTH)
    if parts := hidden_parts(message):
        text = "Must not contain invisible characters, or letters of two scripts in one word"
        raise ValidationError(f"{text}: {', '.join(parts)}.", code="notAllowed")
    if words := forbidden_words(message):
        raise ValidationError(f"Must not contain: {', '.join(words)}.", code="notAllowed")
    return message


class SimulatedRequirementSerializer(StrictSerializer[Any]):
    """A requirement of compliance, simulated."""

    code = ChoiceField(RequirementCode)
    fields = ItemsField(  # type: ignore[assignment]
        child=FieldNameField(),
        min_length=0,
        max_length=len(FIELD_NAMES),
        default=list,
    )
    message = OptionalMessageField()
    dueInDays = WholeNumberField(lowest=1, highest=MAX_DUE_DAYS, source="due_in_days", default=DEFAULT_DUE_DAYS)
