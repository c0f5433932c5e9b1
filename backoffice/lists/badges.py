"""The badges of the back office: coloured labels whose text alone has the meaning too."""

from typing import Any

from django.utils.html import format_html


def badge(text: Any, kind: str) -> str:
    """A coloured label. kind: good, warning, bad or off."""
    return format_html('<span class="bo-badge bo-{}">{}</span>', kind, text)


def icon_and_text(icon: str, text: object) -> str:
    """A text after an icon that screen readers skip."""
    return format_html('<span class="material-symbols-outlined" aria-hidden="true">{}</span>{}', icon, text)
