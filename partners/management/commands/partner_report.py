"""`manage.py partner_report`."""

from argparse import ArgumentParser
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, NamedTuple

from django.utils import timezone

from partners import spans, tallies, traffic, troubles
from partners.administration import effective_rate_limit, keys_with_state
from partners.management.base import Outcome, ServiceCommand, find_partner, moment, table
from partners.models import ApiKey, Partner
from partners.traffic import Clock, Traffic
from partners.troubles import Cause, Trouble

PERIODS = {"last24Hours": tallies.DAY, "last7Days": tallies.WEEK}
HEADINGS = ("LAST 24 HOURS", "LAST 7 DAYS")


@dataclass(frozen=True, slots=True)
class Period:
    """What is reported of one period."""

    since: datetime
    traffic: Traffic
    troubles: Sequence[Trouble]
    clocks: dict[str, Clock]


class Key(NamedTuple):
    """A key and its state: active, expired or revoked."""

    record: ApiKey
    state: str


class Command(ServiceCommand):
    """Reports how a partner's requests went."""

    help = (
        "Reports a partner's requests of the last 24 hours and 7 days by status, why requests were unauthorized, how"
        " far its clock is from ours, and its keys. Hours are counted whole: each period begins with the hour in which"
        " it began. Counts are up to 10 seconds old."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        """SLUG."""
        super().add_arguments(parser)
        parser.add_argument("slug", metavar="SLUG", help="the partner's slug")

    def perform(self, *, slug: str, **_: Any) -> Outcome:
        """Reads it; changes nothing."""
        partner = find_partner(slug)
        periods = {name: _period(partner, name) for name in PERIODS}
        keys = [Key(*found) for found in keys_with_state(partner)]
        data = {
            "slug": partner.slug,
            "name": partner.name,
            "enabled": partner.enabled,
            "rateLimit": effective_rate_limit(partner),
            **{name: _period_data(period) for name, period in periods.items()},
            "apiKeys": [_key_data(key) for key in keys],
        }
        return Outcome(data, _lines(partner, list(periods.values()), keys))


def _period(partner: Partner, name: str) -> Period:
    length = PERIODS[name]
    return Period(
        tallies.first_hour(length),
        traffic.of_partner(partner.pk, period=length),
        list(troubles.of_partner(partner.pk, period=length)),
        traffic.clocks(partner.pk, period=length),
    )


# For programs


def _period_data(period: Period) -> dict[str, Any]:
    requests, busiest = period.traffic, period.traffic.busiest
    return {
        "since": moment(period.since),
        "requests": {
            "total": requests.total,
            "byStatus": {str(status): count for status, count in requests.by_status.items()},
            "replayed": requests.replayed,
            "errors": requests.errors,
            "errorShare": requests.error_share,
            "busiestHour": busiest and {"begins": moment(busiest.begins), "requests": busiest.requests},
        },
        "unauthorized": [
            {
                "cause": trouble.cause.value,
                "key": trouble.prefix,
                "requests": trouble.requests,
                "worstSkewSeconds": trouble.skew_seconds,
                "latestHour": moment(trouble.latest_hour),
            }
            for trouble in period.troubles
        ],
        "clock": _clock_data(period.clocks.get("")),
        "clockByKey": {prefix: _clock_data(clock) for prefix, clock in period.clocks.items() if prefix},
    }


def _clock_data(clock: Clock | None) -> dict[str, Any] | None:
    if clock is None:
        return None
    return {
        "requests": clock.requests,
        "medianSeconds": clock.median_seconds,
        "worstSeconds": clock.worst_seconds,
    }


def _key_data(key: Key) -> dict[str, Any]:
    record = key.record
    return {
        "prefix": record.prefix,
        "label": record.label,
        "state": key.state,
        "ageDays": _days_since(record.created_at),
        "expiresInDays": None if record.expires_at is None else -_days_since(record.expires_at),
        "createdAt": moment(record.created_at),
        "lastUsedAt": moment(record.last_used_at),
        "expiresAt": moment(record.expires_at),
        "revokedAt": moment(record.revoked_at),
    }


def _days_since(instant: datetime) -> int:
    """Whole days, towards nought."""
    return int((timezone.now() - instant).total_seconds() / 86_400)


# For people


def _lines(partner: Partner, periods: Sequence[Period], keys: Sequence[Key]) -> Iterator[str]:
    state = "enabled" if partner.enabled else "disabled"
    yield f"{partner.name} ({partner.slug}), {state}, rate limit {effective_rate_limit(partner)}"
    yield f"Whole hours, since {' and since '.join(_hour(period.since) for period in periods)}."
    of_keys = ("PREFIX", "LABEL", "STATE", "AGE, DAYS", "LAST USED", "EXPIRES", "EXPIRES IN, DAYS")
    yield from _section("API keys", of_keys, map(_key_row, map(_key_data, keys)))
    yield from _section("Requests", ("STATUS", *HEADINGS), _requests(periods))
    yield from _section("Unauthorized", ("CAUSE", "KEY", *HEADINGS, "CLOCK, 7 DAYS"), _causes(periods))
    yield from _advice(periods[-1])
    of_clocks = ("KEY", *_of_each("MEDIAN, "), *_of_each("WORST, "))
    yield from _section("Their clock against ours", of_clocks, _clocks(periods))


def _section(title: str, headings: Sequence[str], rows: Iterable[Sequence[object]]) -> Iterator[str]:
    found = list(rows)
    yield ""
    yield f"{title}: none" if not found else title
    if found:
        yield from (f"  {line}" for line in table(headings, found))


def _of_each(words: str) -> list[str]:
    return [words + heading for heading in HEADINGS]


def _requests(periods: Sequence[Period]) -> Iterator[Sequence[object]]:
    all_traffic = [period.traffic for period in periods]
    if not all_traffic[-1].total:
        return
    for status in sorted({status for one in all_traffic for status in one.by_status}):
        yield status, *(one.by_status.get(status, 0) for one in all_traffic)
    yield "total", *(one.total for one in all_traffic)
    yield "replayed", *(one.replayed for one in all_traffic)
    yield "errors", *(_share(one) for one in all_traffic)
    yield "busiest hour", *(_busiest(one) for one in all_traffic)


def _share(one: Traffic) -> str:
    return str(one.errors) if one.error_share is None else f"{one.errors} ({one.error_share:.1%})"


def _busiest(one: Traffic) -> str:
    return "" if one.busiest is None else f"{one.busiest.requests} ({_hour(one.busiest.begins)})"


def _hour(begins: datetime) -> str:
    return f"{begins.astimezone(UTC):%Y-%m-%d %H:%M} UTC"


def _causes(periods: Sequence[Period]) -> Iterator[Sequence[object]]:
    counts = [{(one.cause, one.prefix): one.requests for one in period.troubles} for period in periods]
    # A week holds what a day holds.
    for one in periods[-1].troubles:
        requests = [count.get((one.cause, one.prefix), 0) for count in counts]
        is_of_clock = one.cause == Cause.CLOCK_SKEW and one.skew_seconds is not None
        yield one.cause.value, one.prefix, *requests, spans.widest(one.skew_seconds or 0) if is_of_clock else ""


def _advice(period: Period) -> Iterator[str]:
    for cause in dict.fromkeys(one.cause for one in period.troubles):
        yield f"  {cause.value}: {troubles.advice(cause)}"


def _clocks(periods: Sequence[Period]) -> Iterator[Sequence[object]]:
    all_clocks = [period.clocks for period in periods]
    for prefix in all_clocks[-1]:
        clocks = [one.get(prefix) for one in all_clocks]
        medians = [clock and spans.difference(clock.median_seconds) for clock in clocks]
        yield prefix or "all", *medians, *(clock and spans.difference(clock.worst_seconds) for clock in clocks)


def _key_row(key: dict[str, Any]) -> Sequence[object]:
    shown = ("prefix", "label", "state", "ageDays", "lastUsedAt", "expiresAt", "expiresInDays")
    return [key[name] for name in shown]
