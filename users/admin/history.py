"""The tables of a user's decisions and profile history."""

from collections.abc import Iterator, Sequence
from datetime import datetime
from itertools import pairwise
from typing import Any

from django.urls import reverse
from django.utils.html import format_html
from django.utils.text import capfirst
from django.utils.translation import gettext_lazy as _

from partners.admin.date_formatting import moment
from partners.admin.pages import TABLE_ROWS, Table, latest_rows
from users.backoffice.change_origin import made_by, made_through
from users.backoffice.lists import query_of
from users.models import Status, StatusChange, User, UserEvent
from users.models.columns import PROFILE_COLUMNS
from users.services.reasons import label_of

# updated_at changes each time.
_COMPARED = (*PROFILE_COLUMNS, "status")


def status_changes(user: User) -> Table:
    """The latest decisions about a user."""
    latest = user.status_changes.select_related("by").order_by("-created_at", "-id")[: TABLE_ROWS + 1]
    return _table(
        StatusChange,
        user,
        (_("when"), _("from"), _("to"), _("by"), _("reason code"), _("reason")),
        [
            (
                _link("statuschange", change.pk, change.created_at),
                Status(change.from_status).label,
                Status(change.to_status).label,
                change.by.get_username(),
                label_of(change.reason_code) or "–",
                change.reason,
            )
            for change in latest
        ],
    )


def events(user: User) -> Table:
    """The latest changes of a user's row; the values are on each event's own page."""
    # One more than is shown, to see whether there are more, and to compare the last one with.
    latest = list(UserEvent.objects.filter(pgh_obj=user).order_by("-pgh_id")[: TABLE_ROWS + 1])
    return _table(
        UserEvent,
        user,
        (_("when"), _("changed"), _("by"), _("through"), _("status")),
        [
            (
                _link("userevent", event.pgh_id, event.pgh_created_at),
                changed,
                made_by(event.pgh_context),
                made_through(event.pgh_context),
                Status(event.status).label,
            )
            for event, changed in _with_changes(latest)
        ],
    )


def _with_changes(latest: list[Any]) -> Iterator[tuple[Any, Any]]:
    for event, before in pairwise([*latest, None]):
        if before is None:
            yield event, _("created")
        else:
            yield event, ", ".join(n for n in _COMPARED if getattr(event, n) != getattr(before, n)) or "–"


def _link(model: str, pk: object, when: datetime) -> str:
    return format_html('<a href="{}">{}</a>', reverse(f"admin:users_{model}_change", args=(pk,)), moment(when))


def _table(model: Any, user: User, headings: Sequence[Any], rows: Sequence[Sequence[Any]]) -> Table:
    title = capfirst(model._meta.verbose_name_plural)  # noqa: SLF001
    url = reverse(f"admin:users_{model._meta.model_name}_changelist", query={"q": user.pk} | query_of(user))  # noqa: SLF001
    return latest_rows(title, headings, rows, all_rows=url)
