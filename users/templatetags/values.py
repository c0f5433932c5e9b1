"""Values as the pages show them."""

from django import template
from django.utils.html import conditional_escape
from django.utils.safestring import SafeString, mark_safe

register = template.Library()


@register.filter
def breakable(value: str) -> SafeString:
    """Text whose line may end after an @, so that a long e-mail address breaks there and not within a word."""
    return mark_safe(conditional_escape(value).replace("@", "@<wbr>"))  # noqa: S308 - escaped just before


@register.filter
def badge_kind(name: str) -> str:
    """The class of look.css for Unfold's name of a badge's colour; none for a colour that says nothing."""
    return {"success": "bo-good", "warning": "bo-warning", "danger": "bo-bad"}.get(name, "")
