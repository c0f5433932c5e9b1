"""How the back office shows why a partner's requests were refused, and what to ask the partner about it."""

from collections.abc import Iterator
from datetime import UTC, timedelta
from typing import Any

from django.urls import reverse
from django.utils.html import format_html
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext

from partners import troubles
from partners.admin_sections import Table
from partners.models import Partner
from partners.troubles import Cause, Trouble

_ADVICE = {
    Cause.MISSING_HEADER: _("Their program, or a proxy on the way, leaves out a header; the answer names it."),
    Cause.MALFORMED_TIMESTAMP: _("X-Request-Timestamp must be an RFC 3339 date-time with an offset or Z."),
    Cause.CLOCK_SKEW: _("Their clock is wrong, or requests wait in a queue after they were signed."),
    Cause.UNKNOWN_KEY: _("A key was mistyped or cut, or is that of another environment."),
    Cause.BAD_SIGNATURE: _(
        "The secret is not this key's, or what they sign is not what they send: contract, section 3."
    ),
    Cause.NOT_IN_FORCE: _("The key has expired or was revoked, or the partner is disabled: see above."),
    Cause.REPLAY: _("An update was sent twice with one signature: sign each anew, or send an Idempotency-Key."),
}


def troubles_table(partner: Partner) -> Table:
    """What was refused in the last 24 hours: this partner's, and what came with a key that is nobody's."""
    return Table(
        title=_("Refused requests, last 24 hours"),
        headings=(_("cause"), _("key"), _("requests"), _("latest"), _("what to ask")),
        rows=list(_rows(partner)),
        note=_(
            "Counted by the key that a request carried. The partner is told none of this; counts are some seconds old."
        ),
        empty=_("No request with one of this partner's keys was refused."),
    )


def _rows(partner: Partner) -> Iterator[tuple[Any, ...]]:
    for one in troubles.of_partner(partner.pk):
        yield _row(one, _key(one))
    for one in troubles.of_partner(None):
        # Which partner sent it nobody knows: shown with every one, as it may be the one who calls.
        if one.cause == Cause.UNKNOWN_KEY:
            yield _row(one, _("of any sender"))


def _row(one: Trouble, key: Any) -> tuple[Any, ...]:
    advice = format_html('<span class="bo-wide">{}</span>', _ADVICE[one.cause])
    return one.cause.label, key, _count(one), _latest(one), advice


def _key(one: Trouble) -> str:
    return format_html('<a href="{}">{}</a>', reverse("admin:partners_apikey_change", args=(one.key_id,)), one.prefix)


def _count(one: Trouble) -> str:
    if one.skew_seconds is None:
        return str(one.requests)
    return f"{one.requests} ({_skew(one.skew_seconds)})"


def _skew(seconds: int) -> str:
    span = _span(abs(seconds))
    return str((_("up to %s ahead") if seconds > 0 else _("up to %s behind")) % span)


def _span(seconds: int) -> str:
    for size, words in ((86_400, "days"), (3_600, "hours"), (60, "minutes")):
        if seconds >= 2 * size:
            return _words(words, round(seconds / size))
    return _words("seconds", seconds)


def _words(unit: str, number: int) -> str:
    texts = {
        "days": ngettext("%(number)d day", "%(number)d days", number),
        "hours": ngettext("%(number)d hour", "%(number)d hours", number),
        "minutes": ngettext("%(number)d minute", "%(number)d minutes", number),
        "seconds": ngettext("%(number)d second", "%(number)d seconds", number),
    }
    return texts[unit] % {"number": number}


def _latest(one: Trouble) -> str:
    begins = one.latest_hour.astimezone(UTC)
    hours = f"{begins:%H:%M}–{begins + timedelta(hours=1):%H:%M} UTC"
    return format_html('<span class="bo-nowrap">{}</span>', hours)
