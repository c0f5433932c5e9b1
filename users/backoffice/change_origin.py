"""The origin of a change for people, from the context that partners/db/history_context.py records with it."""

from collections.abc import Mapping

from django.utils.translation import gettext_lazy as _


def made_by(context: Mapping[str, str] | None) -> str:
    """The partner and key, or the staff member; see partners/db/history_context.py."""
    values = context or {}
    return " ".join(values[name] for name in ("partner", "key", "staff") if values.get(name)) or "–"


def made_through(context: Mapping[str, str] | None) -> str:
    """The rest of the context: a request's id, or a command."""
    rest = {name: value for name, value in (context or {}).items() if name not in {"partner", "key", "staff"} and value}
    return ", ".join(
        _("request %(id)s") % {"id": value}
        if name == "requestId"
        else str(value)
        if name == "source"
        else f"{name} {value}"
        for name, value in rest.items()
    )
