"""Filters of lists."""

from collections.abc import Sequence
from typing import Any

from django.db.models import QuerySet
from django.http import HttpRequest
from unfold.contrib.filters.admin import DropdownFilter


class ChoiceFilter(DropdownFilter):  # type: ignore[misc]
    """A choice of `options`: by default, values of the column named by the parameter."""

    options: Sequence[tuple[str, Any]] = ()

    def lookups(self, request: HttpRequest, model_admin: Any) -> Sequence[tuple[str, Any]]:
        return self.options

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        return queryset.filter(**{self.parameter_name: self.value()}) if self.value() else queryset
