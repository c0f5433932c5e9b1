"""What lines of the audit log are about, by name and with a link, for a page of them at once."""

from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from typing import Any, NamedTuple
from uuid import UUID

from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html

from backoffice.lists.cells import short_id, user_link
from core.models import AuditEntry
from events.models import WebhookEndpoint
from partners.models import ApiKey, Partner
from staff.models import Staff
from transactions.models import Document
from users.models import Status, User


class About(NamedTuple):
    """A cell. is_user: whether it names a user with the external ID and the partner."""

    cell: str
    is_user: bool = False


def objects_of(request: HttpRequest, entries: Collection[AuditEntry]) -> Mapping[str, About]:
    """The cells of the objects of these lines, by object: at most six statements, of what the reader may see."""
    objects = {entry.object for entry in entries if entry.object}
    cells = {text: About(short_id(text) if _uuid(text) else _move(text)) for text in objects}
    for permission, found in (
        ("staff.view_staff", _rows(Staff, "username", objects)),
        ("partners.view_partner", _rows(Partner, "slug", objects)),
        ("partners.view_apikey", _rows(ApiKey, "prefix", objects)),
        ("events.view_webhookendpoint", _rows(WebhookEndpoint, "pk", objects)),
        ("transactions.view_document", _rows(Document, "document_id", objects)),
    ):
        if request.user.has_perm(permission):
            cells |= {text: About(cell) for text, cell in found}
    if request.user.has_perm("users.view_user"):
        users = User.objects.select_related("partner").in_bulk([pk for text in objects if (pk := _uuid(text))])
        cells |= {str(pk): About(user_link(user), is_user=True) for pk, user in users.items()}
    return cells


def _rows(model: Any, column: str, objects: Collection[str]) -> Iterator[tuple[str, str]]:
    """Those of the objects that are rows of a model with a page of its own."""
    is_id = model._meta.get_field(column).get_internal_type() == "UUIDField" if column != "pk" else True  # noqa: SLF001
    values = [pk for text in objects if (pk := _uuid(text))] if is_id else list(objects)
    if not values:
        return
    for row in model.objects.filter(**{f"{column}__in": values}):
        text = str(getattr(row, column))
        url = reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_change", args=(row.pk,))  # noqa: SLF001
        yield text, short_id(text, url=url) if is_id else format_html('<a class="bo-link" href="{}">{}</a>', url, text)


def _move(text: str) -> str:
    """A move that an approval rule is about, in words; any other text as it is."""
    statuses = text.split(" → ")
    return " → ".join(str(Status(one).label) for one in statuses) if set(statuses) <= set(Status) else text


def _uuid(text: str) -> UUID | None:
    with suppress(ValueError):
        return UUID(text)
    return None
