"""Columns that the lists of users share."""

from datetime import datetime

from django.contrib import admin
from django.utils import timezone
from django.utils.html import format_html
from django.utils.translation import gettext_lazy as _

from partners.admin.date_formatting import moment
from partners.admin.key_columns import badge
from users.backoffice.waiting_time import AgeState, age_of
from users.models import Status, User

_STATUS_KINDS = {
    Status.PENDING_COMPLIANCE: "off",
    Status.ACTIVE: "good",
    Status.REJECTED: "bad",
    Status.SUSPENDED: "warning",
    Status.CLOSED: "bad",
}
_AGE_KINDS = {
    AgeState.IN_TIME: ("good", "check_circle"),
    AgeState.DUE_SOON: ("warning", "schedule"),
    AgeState.LATE: ("bad", "error"),
}


@admin.display(description=_("status"))
def status(user: User) -> str:
    """The status as a badge."""
    return badge(user.get_status_display(), _STATUS_KINDS[Status(user.status)])


@admin.display(description=_("waiting"))
def waiting(user: User) -> str:
    """How long a case has waited for a decision, and whether that is too long."""
    return age_cell(user.status_since) if user.status == Status.PENDING_COMPLIANCE else "–"


def age_cell(since: datetime, *, is_due: bool = True) -> str:
    """An age and its beginning. is_due: whether it is compared with the target."""
    age = age_of(since, now=timezone.now())
    kind, icon = _AGE_KINDS[age.state]
    state = badge(icon_and_text(icon, age.state.label), kind) if is_due else ""
    cell = '<div class="bo-age">{} <strong>{}</strong> <span>{}</span></div>'
    return format_html(cell, state, age.text, moment(since))


def icon_and_text(icon: str, text: object) -> str:
    """A text after an icon that screen readers skip."""
    return format_html('<span class="material-symbols-outlined" aria-hidden="true">{}</span>{}', icon, text)
