"""How long a case has waited, against COMPLIANCE_TARGET_HOURS."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from django.conf import settings
from django.db import models
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

# From this part of the target on, a case is due soon.
SOON = 0.75
_HOUR, _DAY = timedelta(hours=1), timedelta(days=1)


class AgeState(models.TextChoices):
    """Where a waiting case stands against the target."""

    IN_TIME = "time", gettext_lazy("In time")
    DUE_SOON = "soon", gettext_lazy("Due soon")
    LATE = "late", gettext_lazy("Late")


@dataclass(frozen=True, slots=True)
class Age:
    """How long something has been so. text: such as `3 h` or `2 d 4 h`."""

    since: datetime
    state: AgeState
    text: str


def age_of(since: datetime, *, now: datetime) -> Age:
    """The age of a case that has waited since then."""
    soon, late = limits(now)
    state = AgeState.LATE if since <= late else AgeState.DUE_SOON if since <= soon else AgeState.IN_TIME
    return Age(since, state, in_words(now - since))


def limits(now: datetime) -> tuple[datetime, datetime]:
    """Who has waited since the first of these or longer is due soon; since the second, late."""
    target = timedelta(hours=settings.COMPLIANCE_TARGET_HOURS)
    return now - target * SOON, now - target


def in_words(waited: timedelta) -> str:
    """A time in its two largest units."""
    if waited < _HOUR:
        return _("%(minutes)s min") % {"minutes": max(0, int(waited.total_seconds() // 60))}
    days, rest = divmod(waited, _DAY)
    hours = rest // _HOUR
    if not days:
        return _("%(hours)s h") % {"hours": hours}
    return _("%(days)s d %(hours)s h") % {"days": days, "hours": hours}
