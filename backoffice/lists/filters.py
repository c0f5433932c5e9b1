"""Filters of lists."""

from collections.abc import Sequence
from datetime import date, datetime, time, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from django import forms
from django.conf import settings
from django.db.models import Model, Q, QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _
from unfold.contrib.filters.admin import DropdownFilter, TextFilter
from unfold.widgets import UnfoldAdminTextInputWidget


class ChoiceFilter(DropdownFilter):  # type: ignore[misc]
    """A choice of `options`."""

    options: Sequence[tuple[str, Any]] = ()

    def lookups(self, request: HttpRequest, model_admin: Any) -> Sequence[tuple[str, Any]]:
        return self.options

    def matching(self, request: HttpRequest, value: str) -> Q:
        """The rows of a choice: by default those with this value in the column named by the parameter."""
        return Q(**{self.parameter_name: value})

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        return queryset.filter(self.matching(request, self.value())) if self.value() else queryset


class ValueFilter(TextFilter):  # type: ignore[misc]
    """A text that is filled in, without the white space around it."""

    def matching(self, request: HttpRequest, value: str) -> Q:
        """The rows of a value: by default those with it in the column named by the parameter."""
        return Q(**{self.parameter_name: value})

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        value = (self.value() or "").strip()
        return queryset.filter(self.matching(request, value)) if value else queryset


class DayForm(forms.Form):
    """A field for a day."""

    def __init__(self, name: str, label: Any, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        widget = UnfoldAdminTextInputWidget(attrs={"type": "date"})
        self.fields[name] = forms.CharField(label=self.Meta.labels[name], required=False, widget=widget)

    class Meta:
        labels = {"since": _("from this day"), "until": _("to this day")}


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
        try:
            day = date.fromisoformat(self.value() or "") + self.days
        except (ValueError, OverflowError):
            return queryset
        midnight = datetime.combine(day, time(), ZoneInfo(settings.COMPLIANCE_TIME_ZONE))
        return queryset.filter(**{f"{self.column}__{self.lookup}": midnight})


class SinceFilter(DayFilter):
    """From a day on."""

    title, parameter_name = _("from this day"), "since"


class UntilFilter(DayFilter):
    """Up to a day."""

    title, parameter_name = _("to this day"), "until"
    days, lookup = timedelta(days=1), "lt"
