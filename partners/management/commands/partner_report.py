"""`manage.py partner_report`."""

from argparse import ArgumentParser
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, NamedTuple

from django.utils import timezone

from partners.management.base import Outcome, ServiceCommand, find_partner, moment, table
from partners.models import ApiKey, Partner
from partners.services import effective_rate_limit, keys_with_state
from partners.usage import clock_skew, reports
from partners.usage.failures import AuthenticationFailure
from partners.usage.reports import Failures, Requests, Skew

PERIODS = {"last24Hours": reports.DAY, "last7Days": reports.WEEK}
HEADINGS = ("LAST 24 HOURS", "LAST 7 DAYS")


@dataclass(frozen=True, slots=True)
class Period:
    """What is reported of one period."""

    since: datetime
    requests: Requests
    failures: Sequence[Failures]
    # By the key's prefix; under "" that of all keys.
    clock_skew: dict[str, Skew]


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
        reports.first_hour(length),
        reports.requests_of(partner.pk, period=length),
        reports.failures_of(partner.pk, period=length),
        reports.clock_skew_of(partner.pk, period=length),
    )


# For programs


def _period_data(period: Period) -> dict[str, Any]:
    requests, busiest = period.requests, period.requests.busiest
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
                "cause": failures.failure.value,
                "key": failures.prefix,
                "requests": failures.requests,
                "worstSkewSeconds": failures.worst_skew_seconds,
                "latestHour": moment(failures.latest_hour),
            }
            for failures in period.failures
        ],
        "clock": _skew_data(period.clock_skew.get("")),
        "clockByKey": {prefix: _skew_data(skew) for prefix, skew in period.clock_skew.items() if prefix},
    }


def _skew_data(skew: Skew | None) -> dict[str, Any] | None:
    if skew is None:
        return None
    return {"requests": skew.requests, "medianSeconds": skew.median_seconds, "worstSeconds": skew.worst_seconds}


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
    yield from _section("Unauthorized", ("CAUSE", "KEY", *HEADINGS, "CLOCK, 7 DAYS"), _failures(periods))
    yield from _advice(periods[-1])
    of_skew = ("KEY", *_of_each("MEDIAN, "), *_of_each("WORST, "))
    yield from _section("Their clock against ours", of_skew, _clock_skew(periods))


def _section(title: str, headings: Sequence[str], rows: Iterable[Sequence[object]]) -> Iterator[str]:
    found = list(rows)
    yield ""
    yield f"{title}: none" if not found else title
    if found:
        yield from (f"  {line}" for line in table(headings, found))


def _of_each(words: str) -> list[str]:
    return [words + heading for heading in HEADINGS]


def _requests(periods: Sequence[Period]) -> Iterator[Sequence[object]]:
    both = [period.requests for period in periods]
    if not both[-1].total:
        return
    for status in sorted({status for requests in both for status in requests.by_status}):
        yield status, *(requests.by_status.get(status, 0) for requests in both)
    yield "total", *(requests.total for requests in both)
    yield "replayed", *(requests.replayed for requests in both)
    yield "errors", *(_share(requests) for requests in both)
    yield "busiest hour", *(_busiest(requests) for requests in both)


def _share(requests: Requests) -> str:
    return str(requests.errors) if requests.error_share is None else f"{requests.errors} ({requests.error_share:.1%})"


def _busiest(requests: Requests) -> str:
    return "" if requests.busiest is None else f"{requests.busiest.requests} ({_hour(requests.busiest.begins)})"


def _hour(begins: datetime) -> str:
    return f"{begins.astimezone(UTC):%Y-%m-%d %H:%M} UTC"


def _failures(periods: Sequence[Period]) -> Iterator[Sequence[object]]:
    counts = [{(one.failure, one.prefix): one.requests for one in period.failures} for period in periods]
    # A week holds what a day holds.
    for one in periods[-1].failures:
        requests = [count.get((one.failure, one.prefix), 0) for count in counts]
        yield one.failure.value, one.prefix, *requests, _worst_skew(one)


def _worst_skew(failures: Failures) -> str:
    if failures.failure != AuthenticationFailure.CLOCK_SKEW or failures.worst_skew_seconds is None:
        return ""
    return clock_skew.worst_text(failures.worst_skew_seconds)


def _advice(period: Period) -> Iterator[str]:
    for failure in dict.fromkeys(one.failure for one in period.failures):
        yield f"  {failure.value}: {failure.advice}"


def _clock_skew(periods: Sequence[Period]) -> Iterator[Sequence[object]]:
    for prefix in periods[-1].clock_skew:
        skews = [period.clock_skew.get(prefix) for period in periods]
        medians = [skew and clock_skew.text(skew.median_seconds) for skew in skews]
        yield prefix or "all", *medians, *(skew and clock_skew.text(skew.worst_seconds) for skew in skews)


def _key_row(key: dict[str, Any]) -> Sequence[object]:
    shown = ("prefix", "label", "state", "ageDays", "lastUsedAt", "expiresAt", "expiresInDays")
    return [key[name] for name in shown]
