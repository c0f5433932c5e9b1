"""Serializer fields of a user. The rules that they apply are in users/profile/field_rules.py."""

from typing import Any

from rest_framework.fields import empty

from partners.api.rule_fields import RuleField, TextField
from users.profile import field_rules


class NullableTextField(TextField):
    """A text for which null means the empty text."""

    def run_validation(self, data: Any = empty) -> Any:
        """Validate null as the empty text; DRF would not call the rule."""
        return super().run_validation("" if data is None else data)


class ExternalIdField(RuleField):
    """A partner's own identifier of a user."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(field_rules.external_id, **kwargs)
