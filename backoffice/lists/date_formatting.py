"""Dates and times in the back office: in the time zone of its pages, and in UTC."""

from collections.abc import Callable
from datetime import UTC, datetime
from functools import cache
from typing import Any

from django.contrib import admin
from django.core.exceptions import FieldDoesNotExist
from django.db.models import DateTimeField, Model
from django.utils.html import format_html

from users.profile.labels import display_moment


def moment(value: datetime | None, *, seconds: bool = False) -> str:
    """A date and time as <time>, in the current time zone with its name; UTC is in the title."""
    if value is None:
        return "–"
    utc = value.astimezone(UTC)
    return format_html(
        '<time datetime="{}" title="{}">{}</time>',
        utc.strftime("%Y-%m-%dT%H:%M:%SZ"),
        utc.strftime("%Y-%m-%d %H:%M:%S UTC"),
        display_moment(value, seconds=seconds),
    )


def _date_column(model: type[Model], name: Any) -> Any:
    """A column of an admin's lists and pages: a date and time as `moment` shows it, any other column as it is."""
    try:
        field = model._meta.get_field(name)  # noqa: SLF001 - Django's public name for it
    except FieldDoesNotExist:
        return name
    if not isinstance(field, DateTimeField):
        return name

    @admin.display(description=field.verbose_name, ordering=name)
    def column(row: Any) -> str:
        return moment(getattr(row, name))

    # The name of the column in Django's pages.
    column.__name__ = name
    return column


# Cached, since Django compares columns by identity.
date_column: Callable[[Any, Any], Any] = cache(_date_column)
