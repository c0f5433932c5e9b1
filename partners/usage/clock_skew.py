"""Clock skew: the caller's clock minus the server's, in seconds, positive where the caller's is ahead."""

from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext

_EXACT_BELOW = 100


def rounded(seconds: float) -> int:
    """Whole seconds; from 100 on, two significant digits, so that many requests share a counter."""
    return round(seconds) if abs(seconds) < _EXACT_BELOW else int(float(f"{seconds:.2g}"))


def text(seconds: int) -> str:
    """Such as "3 seconds ahead", translated."""
    if not seconds:
        return "0 s"
    return str((_("%s ahead") if seconds > 0 else _("%s behind")) % _duration(abs(seconds)))


def worst_text(seconds: int) -> str:
    """Such as "up to 3 seconds ahead", translated."""
    return str((_("up to %s ahead") if seconds > 0 else _("up to %s behind")) % _duration(abs(seconds)))


def _duration(seconds: int) -> str:
    if seconds >= 2 * 86_400:
        days = round(seconds / 86_400)
        return ngettext("%(number)d day", "%(number)d days", days) % {"number": days}
    if seconds >= 2 * 3_600:
        hours = round(seconds / 3_600)
        return ngettext("%(number)d hour", "%(number)d hours", hours) % {"number": hours}
    if seconds >= 2 * 60:
        minutes = round(seconds / 60)
        return ngettext("%(number)d minute", "%(number)d minutes", minutes) % {"number": minutes}
    return ngettext("%(number)d second", "%(number)d seconds", seconds) % {"number": seconds}
