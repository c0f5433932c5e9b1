"""The tables of a user's decisions and profile history."""

from collections.abc import Sequence
from datetime import datetime
from itertools import pairwise
from typing import Any

from django.urls import reverse
from django.utils.html import format_html
from django.utils.text import capfirst
from django.utils.translation import gettext_lazy as _

from backoffice.list_urls import query_of
from backoffice.lists.change_origin import made_by, origin
from backoffice.lists.date_formatting import moment
from backoffice.lists.pages import TABLE_ROWS, Table, latest_rows
from backoffice.users.profile_history import display_changes
from users.decisions.reasons import label_of, note_of
from users.models import Status, StatusChange, User, UserEvent


def status_changes(user: User) -> Table:
    """The latest decisions about a user."""
    latest = user.status_changes.select_related("by").order_by("-created_at", "-id")[: TABLE_ROWS + 1]
    return _table(
        StatusChange,
        user,
        (_("when"), _("from"), _("to"), _("by"), _("reason"), _("note")),
        [
            (
                _link("statuschange", change.pk, change.created_at),
                Status(change.from_status).label,
                Status(change.to_status).label,
                change.by.get_username(),
                label_of(change.reason_code) or "–",
                note_of(change) or "–",
            )
            for change in latest
        ],
    )


def events(user: User, *, sees_identity: bool) -> Table:
    """The latest changes of a user's row; the whole profile is on each event's own page."""
    # One more than is shown, to see whether there are more, and to compare the last one with.
    latest = list(UserEvent.objects.filter(pgh_obj=user).order_by("-pgh_id")[: TABLE_ROWS + 1])
    return _table(
        UserEvent,
        user,
        (_("when"), _("change"), _("by"), _("origin"), _("status")),
        [
            (
                _link("userevent", event.pgh_id, event.pgh_created_at),
                display_changes(event, previous, sees_identity=sees_identity),
                made_by(event.pgh_context),
                origin(event.pgh_context),
                Status(event.status).label,
            )
            for event, previous in pairwise([*latest, None])
        ],
    )


def _link(model: str, pk: object, when: datetime) -> str:
    return format_html('<a href="{}">{}</a>', reverse(f"admin:users_{model}_change", args=(pk,)), moment(when))


def _table(model: Any, user: User, headings: Sequence[Any], rows: Sequence[Sequence[Any]]) -> Table:
    title = capfirst(model._meta.verbose_name_plural)  # noqa: SLF001
    url = reverse(f"admin:users_{model._meta.model_name}_changelist", query={"q": user.pk} | query_of(user))  # noqa: SLF001
    return latest_rows(title, headings, rows, all_rows=url)
