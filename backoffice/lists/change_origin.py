"""The origin of a change for people, from the context that partners/db/history_context.py records with it."""

from collections.abc import Iterator, Mapping

from django.utils.html import format_html
from django.utils.translation import gettext as _

_ACTORS = ("partner", "staff", "operator")


def made_by(context: Mapping[str, str] | None) -> str:
    """The partner, the staff member, or the operator of a command; a dash where the context names none."""
    values = context or {}
    return next((values[name] for name in _ACTORS if values.get(name)), "–")


def made_through(context: Mapping[str, str] | None) -> str:
    """The rest of the context: a key, a request's id, a command; empty where there is none."""
    return ", ".join(_parts(context or {}))


def _parts(context: Mapping[str, str]) -> Iterator[str]:
    for name, value in context.items():
        kind, _separator, request_id = value.partition(" ") if name == "source" else (name, "", value)
        if not value or name in _ACTORS:
            continue
        if kind in {"request", "requestId"}:
            yield _("request %(id)s") % {"id": request_id}
        elif name == "key":
            yield _("key %(key)s") % {"key": value}
        else:
            yield value if name in {"source", "command"} else f"{name} {value}"


def origin(context: Mapping[str, str] | None) -> str:
    """A cell with `made_through`, which a click shows."""
    return on_click(made_through(context))


def on_click(text: str) -> str:
    """A cell with a text for investigations, such as a request's id, which a click shows."""
    return format_html('<details class="bo-more"><summary>{}</summary>{}</details>', _("Show"), text) if text else "–"
