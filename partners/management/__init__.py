"""Partners and their API keys, as commands take and show them (docs/operations.md)."""

from collections.abc import Iterable
from datetime import timedelta

from django.core.management.base import CommandError

from core.management.arguments import Argument, OneOf, number
from core.management.base import SHOWN_ONCE, Outcome, plain
from partners.authentication import keys
from partners.authentication.keys import IssuedKey
from partners.models import Partner


def find_partner(slug: str) -> Partner:
    """The partner with this slug. Raises CommandError."""
    try:
        return Partner.objects.get(slug=slug)
    except Partner.DoesNotExist:
        raise CommandError(f"Partner {slug!r} not found.") from None


PARTNER = Argument("partner", metavar="SLUG", find=find_partner, help="the partner's slug")
API_KEY = Argument(
    "api_key", metavar="API_KEY_OR_PREFIX", find=keys.find, help="the whole API key, or its visible prefix"
)


def switch(*, disable: str, enable: str) -> Argument:
    """--disable or --enable, as `enabled`, which is None without them."""
    return OneOf(
        Argument("--disable", action="store_const", const=False, dest="enabled", help=disable),
        Argument("--enable", action="store_const", const=True, dest="enabled", help=enable),
    )


def overlap_hours(longest: timedelta, what: str) -> Argument:
    """--overlap-hours of a rotation."""
    highest = longest // timedelta(hours=1)
    return number("--overlap-hours", 0, highest, f"{what}; 0: the old one ends at once", default=24)


def issued_key(issued: IssuedKey, further: Iterable[str] = ()) -> Outcome:
    """The outcome that shows a new key and its secret. further: lines for people."""
    record, slug = issued.record, issued.record.partner.slug
    lines = [
        f"API key:  {issued.api_key}",
        f"Secret:   {issued.secret}",
        f"Label:    {record.label or '-'}",
        f"Expires:  {plain(record.expires_at) or 'never'}",
        *further,
        SHOWN_ONCE,
    ]
    if not record.partner.enabled:
        lines.append(f"Partner {slug} is disabled: the key is refused until `set_partner {slug} --enable`.")
    data = {"apiKey": issued.api_key, "secret": issued.secret, "label": record.label, "expiresAt": record.expires_at}
    return Outcome(data, lines)
