"""Differences of clocks in words, in the reader's language."""

from django.utils.formats import number_format
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext

from partners.tallies import FINE_BELOW


def difference(seconds: float) -> str:
    """By how much a sender's clock is ahead of ours (positive), or behind."""
    if not seconds:
        return "0 s"
    return str((_("%s ahead") if seconds > 0 else _("%s behind")) % _span(abs(seconds)))


def widest(seconds: float) -> str:
    """The widest of several such differences."""
    return str((_("up to %s ahead") if seconds > 0 else _("up to %s behind")) % _span(abs(seconds)))


def _span(seconds: float) -> str:
    for size, words in ((86_400, "days"), (3_600, "hours"), (60, "minutes")):
        if seconds >= 2 * size:
            return _words(words, round(seconds / size))
    if seconds < FINE_BELOW:
        return f"{number_format(seconds, 1)} s"
    return _words("seconds", round(seconds))


def _words(unit: str, number: int) -> str:
    texts = {
        "days": ngettext("%(number)d day", "%(number)d days", number),
        "hours": ngettext("%(number)d hour", "%(number)d hours", number),
        "minutes": ngettext("%(number)d minute", "%(number)d minutes", number),
        "seconds": ngettext("%(number)d second", "%(number)d seconds", number),
    }
    return texts[unit] % {"number": number}
