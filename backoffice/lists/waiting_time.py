"""How long a case has waited, against COMPLIANCE_TARGET_HOURS."""

from datetime import datetime, timedelta

from django.conf import settings
from django.db import models
from django.utils import timezone
from django.utils.html import format_html
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from backoffice.lists.cells import badge, icon_and_text, moment

# A case is due soon from this part of the target on.
SOON = 0.75
_HOUR, _DAY = timedelta(hours=1), timedelta(days=1)


class AgeState(models.TextChoices):
    """A waiting case against the target."""

    IN_TIME = "time", gettext_lazy("In time")
    DUE_SOON = "soon", gettext_lazy("Due soon")
    LATE = "late", gettext_lazy("Late")


_KINDS = {
    AgeState.IN_TIME: ("good", "check_circle"),
    AgeState.DUE_SOON: ("warning", "schedule"),
    AgeState.LATE: ("bad", "error"),
}


def age_state(since: datetime) -> AgeState:
    """Compare the age of a case that has waited since then with the target."""
    soon, late = limits(timezone.now())
    return AgeState.LATE if since <= late else AgeState.DUE_SOON if since <= soon else AgeState.IN_TIME


def age_cell(since: datetime, *, is_due: bool = True) -> str:
    """An age and its beginning. is_due: whether it is compared with the target."""
    state = age_state(since)
    kind, icon = _KINDS[state]
    mark = badge(icon_and_text(icon, state.label), kind) if is_due else ""
    cell = '<div class="bo-age">{} <strong>{}</strong> <span>{}</span></div>'
    return format_html(cell, mark, format_duration(timezone.now() - since), moment(since))


def limits(now: datetime) -> tuple[datetime, datetime]:
    """Return the instants up to which a waiting case is due soon, and late."""
    target = timedelta(hours=settings.COMPLIANCE_TARGET_HOURS)
    return now - target * SOON, now - target


def format_duration(duration: timedelta) -> str:
    """Write a duration in its two largest units, down to minutes: `3 h` or `2 d 4 h`."""
    days, rest = divmod(max(duration, timedelta(0)), _DAY)
    hours, rest = divmod(rest, _HOUR)
    if days:
        return _("%(days)s d %(hours)s h") % {"days": days, "hours": hours}
    if hours:
        return _("%(hours)s h") % {"hours": hours}
    return _("%(minutes)s min") % {"minutes": rest // timedelta(minutes=1)}


def format_open_time(seconds: int) -> str:
    """Write how long a case was open: in seconds below two minutes."""
    if seconds < 2 * 60:
        return _("%(seconds)s s") % {"seconds": seconds}
    return format_duration(timedelta(seconds=seconds))
