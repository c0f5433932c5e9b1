"""Clock skew: the caller's clock minus the server's, in seconds, positive where the caller's is ahead."""

from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext_lazy

_EXACT_BELOW = 100
# In seconds, largest first.
_UNITS = (
    (86_400, ngettext_lazy("%(number)d day", "%(number)d days", "number")),
    (3_600, ngettext_lazy("%(number)d hour", "%(number)d hours", "number")),
    (60, ngettext_lazy("%(number)d minute", "%(number)d minutes", "number")),
    (1, ngettext_lazy("%(number)d second", "%(number)d seconds", "number")),
)


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
    length, unit = next(unit for unit in _UNITS if seconds >= 2 * unit[0] or unit[0] == 1)
    return str(unit % {"number": round(seconds / length)})
