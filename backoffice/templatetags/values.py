"""Filters that format values."""

from datetime import datetime
from typing import Any

from django import template
from django.utils.html import conditional_escape
from django.utils.safestring import SafeString, mark_safe

from backoffice.lists.date_formatting import moment

register = template.Library()
register.filter("moment", moment)


@register.filter
def cell(value: Any) -> Any:
    """A cell of a table: a date and time by `moment`, any other value as it is."""
    return moment(value) if isinstance(value, datetime) else value


@register.filter
def breakable(value: str) -> SafeString:
    """Text whose line may end after an @, so that a long e-mail address breaks there and not within a word."""
    return mark_safe(conditional_escape(value).replace("@", "@<wbr>"))  # noqa: S308 - escaped just before
