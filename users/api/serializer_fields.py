"""Serializer fields of a user. The rules that they apply are in users/profile/field_rules.py."""

from typing import Any, ClassVar

from rest_framework.fields import empty

from partners.api.rule_fields import CONTROL, RuleField, Schema, TextField
from users.profile import field_rules

EXTERNAL_ID: Schema = {
    "type": "string",
    "minLength": 1,
    "maxLength": field_rules.EXTERNAL_ID_LENGTH,
    # No slash, no control character, no white space at either end. Not every reader of a schema knows character classes
    # by Unicode category, which would say it all.
    "pattern": rf"^[^\s/{CONTROL}](?:[^/{CONTROL}]*[^\s/{CONTROL}])?$",
}


class NullableTextField(TextField):
    """A text for which null means the empty text."""

    json_type: ClassVar[str | list[str]] = ["string", "null"]

    def run_validation(self, data: Any = empty) -> Any:
        """Validate null as the empty text; DRF would not call the rule."""
        return super().run_validation("" if data is None else data)


class ExternalIdField(RuleField):
    """A partner's own identifier of a user."""

    def __init__(self, **kwargs: Any) -> None:
        description = (
            "Your own identifier of the user: letters, marks, numbers, punctuation, symbols (Unicode"
            " categories L, M, N, P, S) and plain spaces inside; not `.` or `..` alone. Letter case counts."
        )
        super().__init__(field_rules.external_id, schema=EXTERNAL_ID | {"description": description}, **kwargs)
