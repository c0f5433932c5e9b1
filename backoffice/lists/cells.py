"""The cells of lists: people, texts of which a wide list shows the first lines, and identifiers."""

from uuid import UUID

from django.urls import reverse
from django.utils.html import format_html
from django.utils.translation import gettext as _

from users.models import User

_ID_SHOWN = 8


def user_link(user: User) -> str:
    """The user's name, which leads to the case, external ID and partner, all in full."""
    return case_link(user.pk, user.full_name, user.external_id, user.partner.name)


def case_link(user_id: UUID, name: str, external_id: str, partner: str) -> str:
    """A name that leads to the case, with the external ID and the partner below it."""
    cell = '<a class="bo-link" href="{}">{}</a> <span class="bo-quiet bo-below-name">{} · {}</span>'
    return format_html(cell, reverse("backoffice_case", args=(user_id,)), name, external_id, partner)


def labelled(name: object, value: object) -> str:
    """A name and a value, with the colon as the reader's language writes it."""
    return _("%(name)s: %(value)s") % {"name": name, "value": value}


def brief(text: str) -> str:
    """A text of which a wide list shows the first lines; the whole is in the title, and on the row's page."""
    return format_html('<span class="bo-brief" title="{}">{}</span>', text, text) if text else "–"


def short_id(value: UUID | str, *, url: str = "") -> str:
    """The first characters of an id, linked where it has a page; a button copies the whole."""
    text = str(value)
    label = f"{text[:_ID_SHOWN]}…"
    cell = '<a class="bo-link" href="{url}" title="{id}">{label}</a>' if url else '<span title="{id}">{label}</span>'
    button = (
        ' <button type="button" class="bo-copy" data-copies-text="{id}" data-copied="{copied}"'
        ' aria-label="{copy}" hidden>'
        '<span class="material-symbols-outlined" aria-hidden="true">content_copy</span>'
        '<span data-label aria-live="polite"></span></button>'
    )
    return format_html(
        f'<span class="bo-id">{cell}{button}</span>',
        url=url,
        id=text,
        label=label,
        copied=_("Copied"),
        copy=_("Copy %(id)s") % {"id": text},
    )
