"""Instants in the back office: in the time zone that its pages have, and in UTC."""

from datetime import UTC, datetime
from typing import Any

from django.contrib import admin
from django.core.exceptions import FieldDoesNotExist
from django.db.models import DateTimeField, Model
from django.utils import timezone
from django.utils.formats import date_format
from django.utils.html import format_html


def moment(value: datetime | None) -> str:
    """An instant as <time>, in the current time zone, whose name it shows; UTC is in its title."""
    if value is None:
        return "–"
    utc = value.astimezone(UTC)
    return format_html(
        '<time datetime="{}" title="{}">{}</time>',
        utc.strftime("%Y-%m-%dT%H:%M:%SZ"),
        utc.strftime("%Y-%m-%d %H:%M:%S UTC"),
        date_format(timezone.localtime(value), "DATETIME_FORMAT"),
    )


# By model and name: Django compares columns by identity.
_columns: dict[tuple[str, Any], Any] = {}


def shown(model: type[Model], name: Any) -> Any:
    """A column for an admin's lists and pages: of an instant, what shows it as `moment` does; any other as it is."""
    key = (model._meta.label, name)  # noqa: SLF001 - Django's public name for it
    if key not in _columns:
        _columns[key] = _column(model, name)
    return _columns[key]


def _column(model: type[Model], name: Any) -> Any:
    try:
        field = model._meta.get_field(name)  # noqa: SLF001
    except FieldDoesNotExist:
        return name
    if not isinstance(field, DateTimeField):
        return name

    @admin.display(description=field.verbose_name, ordering=name)
    def column(row: Any) -> str:
        return moment(getattr(row, name))

    # What Django calls the column in its pages.
    column.__name__ = name
    return column
