"""The cells of lists and pages: people, texts, identifiers, badges, dates and times, and the origins of changes."""

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from functools import cache
from itertools import groupby
from typing import Any
from uuid import UUID

from django.contrib import admin
from django.core.exceptions import FieldDoesNotExist
from django.db.models import DateTimeField, Model
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.html import format_html, format_html_join
from django.utils.translation import gettext as _

from users.decisions.risk_flags import RISK_FLAGS, Weight, visible_flags
from users.models import User, UserEvent
from users.profile.labels import display_moment

_ACTORS = ("partner", "staff", "operator")


def user_link(user: User | UserEvent) -> str:
    """The name, of an event that after it, leads to the case; the external ID and the partner are below it, in full."""
    cell = '<a class="bo-link" href="{}">{}</a> <span class="bo-quiet bo-below-name">{} · {}</span>'
    case = reverse("backoffice_case", args=(user.id,))
    return format_html(cell, case, user.full_name, user.external_id, user.partner.name)


def labelled(name: object, value: object) -> str:
    """A name and a value, with the colon as the reader's language writes it."""
    return _("%(name)s: %(value)s") % {"name": name, "value": value}


def brief(text: str) -> str:
    """A text of which a wide list shows the first lines; the whole is in the title, and on the row's page."""
    return format_html('<span class="bo-brief" title="{}">{}</span>', text, text) if text else "–"


def short_id(value: UUID | str, *, url: str = "") -> str:
    """The first characters of an id, linked where it has a page; a button copies the whole."""
    return render_to_string("backoffice/short_id.html", {"id": str(value), "url": url})


def badge(text: Any, kind: str) -> str:
    """A coloured label. kind: good, warning, bad or off."""
    return format_html('<span class="bo-badge bo-{}">{}</span>', kind, text)


def icon_and_text(icon: str, text: object) -> str:
    """A text after an icon that screen readers skip."""
    return format_html('<span class="material-symbols-outlined" aria-hidden="true">{}</span>{}', icon, text)


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
    shown = admin.display(lambda row: moment(getattr(row, name)), description=field.verbose_name, ordering=name)
    # The name of the column in Django's pages.
    shown.__name__ = name
    return shown


# Cached, since Django compares columns by identity.
date_column: Callable[[Any, Any], Any] = cache(_date_column)


def column(title: Any, cell: Callable[[Any], Any], **options: Any) -> Any:
    """A column or field of an admin, as a class attribute. cell: of a row. options: Django's, such as `ordering`."""
    return admin.display(lambda _admin, row: cell(row), description=title, **options)


_WEIGHT_KINDS = {Weight.GRAVE: "bad", Weight.ORDINARY: "warning", Weight.HARMLESS: "off"}


def display_flags(codes: Sequence[str]) -> str:
    """The risk flags by name, below their weight in a word and a colour; empty without any."""
    rows = [
        (
            badge(icon_and_text("flag", weight.label), _WEIGHT_KINDS[weight]),
            "; ".join(str(kind.title) for kind in kinds),
        )
        for weight, kinds in groupby((RISK_FLAGS[code] for code in codes), lambda kind: kind.weight)
    ]
    return format_html('<div class="bo-flags">{}</div>', format_html_join("", "<p>{} {}</p>", rows)) if rows else ""


def flag_legend(*, sees_identity: bool) -> list[tuple[str, str, Any]]:
    """What the risk flags that a reader sees mean: the badge of the weight, the name, and the meaning."""
    return [
        (badge(kind.weight.label, _WEIGHT_KINDS[kind.weight]), str(kind.title), kind.meaning)
        for kind in visible_flags(sees_identity=sees_identity)
    ]


# The origin of a change, from the context that core/database/statements.py records with it


def made_by(context: Mapping[str, str] | None) -> str:
    """The partner, the staff member, or the operator of a command; a dash where the context names none."""
    values = context or {}
    return next((values[name] for name in _ACTORS if values.get(name)), "–")


def made_through(context: Mapping[str, str] | None) -> str:
    """The rest of the context: a key, a request's id, a command; empty where there is none."""
    parts = []
    for name, value in (context or {}).items():
        kind, _separator, request_id = value.partition(" ") if name == "source" else (name, "", value)
        if not value or name in _ACTORS:
            continue
        if kind in {"request", "requestId"}:
            parts.append(_("request %(id)s") % {"id": request_id})
        elif name == "key":
            parts.append(_("key %(key)s") % {"key": value})
        else:
            parts.append(value if name in {"source", "command"} else f"{name} {value}")
    return ", ".join(parts)


def on_click(text: str) -> str:
    """A cell with a text for investigations, such as a request's id, which a click shows."""
    return format_html('<details class="bo-more"><summary>{}</summary>{}</details>', _("Show"), text) if text else "–"
