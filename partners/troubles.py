"""Why requests were refused as `unauthorized`, counted by partner and key: the first question of a support call.

The partner is told one and the same text (contract, section 3), so support has to be able to look the
cause up. How counts come to the database is partners/tallies.py.
"""

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import NamedTuple

from django.db import models
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from partners import keys, sql, tallies

UNAUTHORIZED = 401


class Cause(models.TextChoices):
    """Why a request is `unauthorized`. The values are those in the log."""

    MISSING_HEADER = "missing header", _("Header missing")
    MALFORMED_TIMESTAMP = "malformed timestamp", _("Malformed timestamp")
    CLOCK_SKEW = "clock skew", _("Clock differs")
    UNKNOWN_KEY = "unknown key", _("Unknown key")
    BAD_SIGNATURE = "bad signature", _("Wrong signature")
    NOT_IN_FORCE = "key not in force or partner disabled", _("Key or partner not in force")
    REPLAY = "replay", _("Sent again")


_ADVICE = {
    Cause.MISSING_HEADER: _(
        "Their program, or a proxy on the way, leaves out a header, or sends it empty or not in ASCII;"
        " the answer names it."
    ),
    Cause.MALFORMED_TIMESTAMP: _("X-Request-Timestamp must be an RFC 3339 date-time with an offset or Z."),
    Cause.CLOCK_SKEW: _("Their clock is wrong, or requests wait in a queue after they were signed."),
    Cause.UNKNOWN_KEY: _("A key was mistyped or cut, or is that of another environment."),
    Cause.BAD_SIGNATURE: _(
        "The secret is not this key's, or what they sign is not what they send: contract, section 3."
    ),
    Cause.NOT_IN_FORCE: _("The key has expired or was revoked, or the partner is disabled: see above."),
    Cause.REPLAY: _("An update was sent twice with one signature: sign each anew, or send an Idempotency-Key."),
}


def advice(cause: Cause) -> Promise:
    """What to ask a partner whose requests are refused for this, in the reader's language."""
    return _ADVICE[cause]


def count(cause: Cause, api_key: str | None, *, skew_seconds: float | None = None) -> None:
    """Counts one refusal.

    api_key: as it was sent; whose it is is asked only when counts are written.
    skew_seconds: by how much the sender's clock is ahead of ours, where the request tells.
    """
    # A key that is nobody's takes no room.
    sender = keys.digest(api_key) if api_key and cause != Cause.UNKNOWN_KEY else None
    skew = None if skew_seconds is None or sender is None else tallies.tenths(skew_seconds)
    tallies.add(tallies.Seen(tallies.present_hour(), sender, UNAUTHORIZED, cause=cause.value, skew_tenths=skew))


class Trouble(NamedTuple):
    """How often a cause was met with a key within the time asked for. prefix: empty where the key is not known."""

    cause: Cause
    prefix: str
    key_id: int | None
    requests: int
    skew_seconds: int | None
    latest_hour: datetime


_COUNTED = """
    SELECT trouble.cause, coalesce(key.prefix, ''), trouble.key_id, sum(trouble.count)::bigint,
           (array_agg(trouble.skew_seconds ORDER BY abs(trouble.skew_seconds) DESC NULLS LAST))[1], max(trouble.hour)
      FROM partners_authenticationtrouble trouble LEFT JOIN partners_apikey key ON key.id = trouble.key_id
     WHERE trouble.hour >= %s AND trouble.partner_id {}
     GROUP BY trouble.cause, key.prefix, trouble.key_id
     ORDER BY 4 DESC, 1, 2
"""
# Written apart, since no index answers IS NOT DISTINCT FROM.
_OF_PARTNER, _OF_NOBODY = _COUNTED.format("= %s"), _COUNTED.format("IS NULL")


def of_partner(partner_id: int | None, *, period: timedelta = tallies.DAY) -> Iterator[Trouble]:
    """What requests with this partner's keys were refused for in the last `period`, most frequent first.

    None: those whose key is nobody's, or that had none. Hours are whole (tallies.first_hour).
    """
    since = tallies.first_hour(period)
    found = (
        sql.fetch_all(_OF_NOBODY, (since,)) if partner_id is None else sql.fetch_all(_OF_PARTNER, (since, partner_id))
    )
    for cause, *rest in found:
        yield Trouble(Cause(cause), *rest)
