"""How the back office shows why a partner's requests were refused, and what to ask the partner about it."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.translation import gettext_lazy as _

from partners import spans, troubles
from partners.admin_sections import Table
from partners.models import Partner
from partners.troubles import Cause, Trouble


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
    advice = format_html('<span class="bo-wide">{}</span>', troubles.advice(one.cause))
    return one.cause.label, key, _count(one), _latest(one), advice


def _key(one: Trouble) -> str:
    return format_html('<a href="{}">{}</a>', reverse("admin:partners_apikey_change", args=(one.key_id,)), one.prefix)


def _count(one: Trouble) -> str:
    if one.cause != Cause.CLOCK_SKEW or one.skew_seconds is None:
        return str(one.requests)
    return f"{one.requests} ({spans.widest(one.skew_seconds)})"


def _latest(one: Trouble) -> str:
    begins = timezone.localtime(one.latest_hour)
    hours = f"{begins:%H:%M}–{begins + timedelta(hours=1):%H:%M %Z}"
    return format_html('<span class="bo-nowrap">{}</span>', hours)
