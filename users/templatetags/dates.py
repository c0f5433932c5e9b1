"""Dates and times in templates."""

from datetime import datetime
from typing import Any

from django import template

from partners.admin.date_formatting import moment

register = template.Library()


register.filter("moment", moment)


@register.filter
def cell(value: Any) -> Any:
    """A cell of a table: a date and time by `moment`, any other value as it is."""
    return moment(value) if isinstance(value, datetime) else value
