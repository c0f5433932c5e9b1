from argparse import ArgumentParser
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple

from django.utils import timezone

from partners.api.json import rfc_3339
from partners.management.base import Outcome, ServiceCommand, find_partner, optional_rfc_3339, table
from partners.models import ApiKey, Partner
from partners.services import effective_rate_limit, keys_with_state
from partners.usage import clock_skew, reports
from partners.usage.failures import AuthenticationFailure
from partners.usage.reports import Failures, Requests, Skew

PERIODS = {"last24Hours": reports.DAY, "last7Days": reports.WEEK}
HEADINGS = ("LAST 24 HOURS", "LAST 7 DAYS")


class Period(NamedTuple):
    """A partner's usage within a period. clock_skew: by key prefix; "" for all keys."""

    since: datetime
    requests: Requests
    failures: Sequence[Failures]
    clock_skew: dict[str, Skew]


class Command(ServiceCommand):
    help = (
        "Reports a partner's requests of the last 24 hours and 7 days by status, authentication failures by cause,"
        " clock skew, and API keys. Periods begin with a whole hour. Counts are up to 10 seconds old."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("slug", metavar="SLUG", help="the partner's slug")

    def perform(self, *, slug: str, **_: Any) -> Outcome:
        partner = find_partner(slug)
        periods = {
            name: Period(
                reports.first_hour(length),
                reports.requests_of(partner.pk, period=length),
                reports.failures_of(partner.pk, period=length),
                reports.clock_skew_of(partner.pk, period=length),
            )
            for name, length in PERIODS.items()
        }
        keys = [_key_data(key, state) for key, state in keys_with_state(partner)]
        data = {
            "slug": partner.slug,
            "name": partner.name,
            "enabled": partner.enabled,
            "rateLimit": effective_rate_limit(partner),
            **{name: _period_data(period) for name, period in periods.items()},
            "apiKeys": keys,
        }
        return Outcome(data, _lines(partner, list(periods.values()), keys))


# For --json


def _period_data(period: Period) -> dict[str, Any]:
    requests, busiest = period.requests, period.requests.busiest
    skews = {prefix: _skew_data(skew) for prefix, skew in period.clock_skew.items()}
    return {
        "since": rfc_3339(period.since),
        "requests": {
            "total": requests.total,
            "byStatus": {str(status): count for status, count in requests.by_status.items()},
            "replayed": requests.replayed,
            "errors": requests.errors,
            "errorShare": requests.error_share,
            "busiestHour": busiest and {"begins": rfc_3339(busiest.begins), "requests": busiest.requests},
        },
        "unauthorized": [
            {
                "cause": failures.failure.value,
                "key": failures.prefix,
                "requests": failures.requests,
                "worstSkewSeconds": failures.worst_skew_seconds,
                "latestHour": rfc_3339(failures.latest_hour),
            }
            for failures in period.failures
        ],
        "clock": skews.pop("", None),
        "clockByKey": skews,
    }


def _skew_data(skew: Skew) -> dict[str, int]:
    return {"requests": skew.requests, "medianSeconds": skew.median_seconds, "worstSeconds": skew.worst_seconds}


def _key_data(key: ApiKey, state: str) -> dict[str, Any]:
    return {
        "prefix": key.prefix,
        "label": key.label,
        "state": state,
        "ageDays": _days_since(key.created_at),
        "expiresInDays": None if key.expires_at is None else -_days_since(key.expires_at),
        "createdAt": rfc_3339(key.created_at),
        "lastUsedAt": optional_rfc_3339(key.last_used_at),
        "expiresAt": optional_rfc_3339(key.expires_at),
        "revokedAt": optional_rfc_3339(key.revoked_at),
    }


def _days_since(instant: datetime) -> int:
    """Whole days, rounded towards zero."""
    return int((timezone.now() - instant).total_seconds() / 86_400)


# For people


def _lines(partner: Partner, periods: Sequence[Period], keys: Sequence[dict[str, Any]]) -> Iterator[str]:
    state = "enabled" if partner.enabled else "disabled"
    yield f"{partner.name} ({partner.slug}), {state}, rate limit {effective_rate_limit(partner)}"
    yield f"Whole hours, since {' and since '.join(_hour(period.since) for period in periods)}."
    fields = ("prefix", "label", "state", "ageDays", "lastUsedAt", "expiresAt", "expiresInDays")
    headings = ("PREFIX", "LABEL", "STATE", "AGE, DAYS", "LAST USED", "EXPIRES", "EXPIRES IN, DAYS")
    yield from _section("API keys", headings, ([key[field] for field in fields] for key in keys))
    yield from _section("Requests", ("STATUS", *HEADINGS), _requests([period.requests for period in periods]))
    yield from _section("Unauthorized", ("CAUSE", "KEY", *HEADINGS, "CLOCK, 7 DAYS"), _failures(periods))
    for failure in dict.fromkeys(failures.failure for failures in periods[-1].failures):
        yield f"  {failure.value}: {failure.advice}"
    skew_headings = ("KEY", *(f"{value}, {heading}" for value in ("MEDIAN", "WORST") for heading in HEADINGS))
    yield from _section("Clock skew", skew_headings, _clock_skew(periods))


def _section(title: str, headings: Sequence[str], rows: Iterable[Sequence[object]]) -> Iterator[str]:
    rows = list(rows)
    yield ""
    yield title if rows else f"{title}: none"
    if rows:
        yield from (f"  {line}" for line in table(headings, rows))


def _requests(periods: Sequence[Requests]) -> Iterator[Sequence[object]]:
    if not periods[-1].total:
        return
    for status in sorted({status for requests in periods for status in requests.by_status}):
        yield status, *(requests.by_status.get(status, 0) for requests in periods)
    yield "total", *(requests.total for requests in periods)
    yield "replayed", *(requests.replayed for requests in periods)
    yield (
        "errors",
        *(f"{requests.errors} ({requests.error_share:.1%})" if requests.total else 0 for requests in periods),
    )
    busiest = [requests.busiest for requests in periods]
    yield "busiest hour", *(hour and f"{hour.requests} ({_hour(hour.begins)})" for hour in busiest)


def _hour(begins: datetime) -> str:
    return f"{begins.astimezone(UTC):%Y-%m-%d %H:%M} UTC"


def _failures(periods: Sequence[Period]) -> Iterator[Sequence[object]]:
    counts = [{(one.failure, one.prefix): one.requests for one in period.failures} for period in periods]
    # The last period includes the others.
    for failure, prefix, _, _, worst, _ in periods[-1].failures:
        skew = failure == AuthenticationFailure.CLOCK_SKEW and worst is not None and clock_skew.worst_text(worst)
        yield failure.value, prefix, *(count.get((failure, prefix), 0) for count in counts), skew or ""


def _clock_skew(periods: Sequence[Period]) -> Iterator[Sequence[object]]:
    for prefix in periods[-1].clock_skew:
        skews = [period.clock_skew.get(prefix) for period in periods]
        medians = [skew and clock_skew.text(skew.median_seconds) for skew in skews]
        yield prefix or "all", *medians, *(skew and clock_skew.text(skew.worst_seconds) for skew in skews)
