"""Filters of lists."""

from collections.abc import Mapping, Sequence
from datetime import date, timedelta
from typing import Any

from django import forms
from django.contrib.admin.options import IncorrectLookupParameters
from django.db.models import Model, Q, QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _
from unfold.contrib.filters.admin import DropdownFilter, TextFilter
from unfold.widgets import UnfoldAdminTextInputWidget

from users.profile.field_rules import midnight

# Of each choice the label and the rows.
Conditions = Mapping[str, tuple[Any, Q]]


class ChoiceFilter(DropdownFilter):  # type: ignore[misc]
    """A choice of `options`; others are refused."""

    options: Sequence[tuple[str, Any]] = ()

    def conditions(self, request: HttpRequest) -> Conditions:
        """The choices: by default the rows with the value in the column named by the parameter."""
        return {value: (label, Q(**{self.parameter_name: value})) for value, label in self.options}

    def lookups(self, request: HttpRequest, model_admin: Any) -> Sequence[tuple[str, Any]]:
        return [(value, label) for value, (label, _rows) in self.conditions(request).items()]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        conditions, value = {"": ("", Q()), **self.conditions(request)}, self.value() or ""
        if value not in conditions:
            raise IncorrectLookupParameters
        return queryset.filter(conditions[value][1])


class ValueFilter(TextFilter):  # type: ignore[misc]
    """A text that is filled in, without the white space around it."""

    def matching(self, request: HttpRequest, value: str) -> Q:
        """The rows of a value: by default those with it in the column named by the parameter."""
        return Q(**{self.parameter_name: value})

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        value = (self.value() or "").strip()
        return queryset.filter(self.matching(request, value)) if value else queryset


_DAYS = {"since": _("from this day"), "until": _("to this day")}


class DayForm(forms.Form):
    """A field for a day."""

    def __init__(self, name: str, label: Any, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        widget = UnfoldAdminTextInputWidget(attrs={"type": "date"})
        self.fields[name] = forms.CharField(label=_DAYS[name], required=False, widget=widget)


class DayFilter(TextFilter):  # type: ignore[misc]
    """By the day, in the compliance time zone, of the column that the list is ordered by."""

    form_class = DayForm
    is_indexed = True
    days = timedelta()
    lookup = "gte"

    def __init__(self, request: HttpRequest, params: dict[str, Any], model: type[Model], model_admin: Any) -> None:
        self.column = model_admin.ordering[0].lstrip("-")
        super().__init__(request, params, model, model_admin)

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        if not self.value():
            return queryset
        try:
            day = date.fromisoformat(self.value()) + self.days
        except (ValueError, OverflowError):
            raise IncorrectLookupParameters from None
        return queryset.filter(**{f"{self.column}__{self.lookup}": midnight(day)})


class SinceFilter(DayFilter):
    """From a day on."""

    title, parameter_name = _DAYS["since"], "since"


class UntilFilter(DayFilter):
    """Up to a day."""

    title, parameter_name = _DAYS["until"], "until"
    days, lookup = timedelta(days=1), "lt"
