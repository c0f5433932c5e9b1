"""Filters of lists."""

from collections.abc import Sequence
from datetime import date, datetime, time, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from django import forms
from django.conf import settings
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _
from unfold.contrib.filters.admin import DropdownFilter, TextFilter
from unfold.widgets import UnfoldAdminTextInputWidget


class ChoiceFilter(DropdownFilter):  # type: ignore[misc]
    """A choice of `options`: by default, values of the column named by the parameter."""

    options: Sequence[tuple[str, Any]] = ()

    def lookups(self, request: HttpRequest, model_admin: Any) -> Sequence[tuple[str, Any]]:
        return self.options

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        return queryset.filter(**{self.parameter_name: self.value()}) if self.value() else queryset


class DayForm(forms.Form):
    """A field for a day."""

    def __init__(self, name: str, label: Any, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        widget = UnfoldAdminTextInputWidget(attrs={"type": "date"})
        self.fields[name] = forms.CharField(label=self.Meta.labels[name], required=False, widget=widget)

    class Meta:
        labels = {"since": _("from this day"), "until": _("to this day")}


class DayFilter(TextFilter):  # type: ignore[misc]
    """By the day, in the compliance time zone: a range of the order's index."""

    form_class = DayForm
    is_indexed = True
    days = timedelta()
    lookup = "at__gte"

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        try:
            day = date.fromisoformat(self.value() or "") + self.days
        except (ValueError, OverflowError):
            return queryset
        return queryset.filter(**{self.lookup: datetime.combine(day, time(), ZoneInfo(settings.COMPLIANCE_TIME_ZONE))})


class SinceFilter(DayFilter):
    """From a day on, by `at`."""

    title, parameter_name = _("from this day"), "since"


class UntilFilter(DayFilter):
    """Up to a day, by `at`."""

    title, parameter_name = _("to this day"), "until"
    days, lookup = timedelta(days=1), "at__lt"


class CreatedSinceFilter(SinceFilter):
    """From a day on, by `created_at`."""

    lookup = "created_at__gte"


class CreatedUntilFilter(UntilFilter):
    """Up to a day, by `created_at`."""

    lookup = "created_at__lt"
