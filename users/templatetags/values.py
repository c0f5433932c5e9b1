"""Filters for values."""

from django import template
from django.utils.html import conditional_escape
from django.utils.safestring import SafeString, mark_safe

register = template.Library()


@register.filter
def breakable(value: str) -> SafeString:
    """Text whose line may end after an @, so that a long e-mail address breaks there and not within a word."""
    return mark_safe(conditional_escape(value).replace("@", "@<wbr>"))  # noqa: S308 - escaped just before
