from argparse import ArgumentParser
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from typing import Any

from django.utils import timezone

from partners.api.json import rfc_3339
from partners.management.base import Outcome, ServiceCommand, find_partner, key_data, table
from partners.models import ApiKey, Partner
from partners.usage import clock_skew, reports
from partners.usage.failures import AuthenticationFailure

PERIODS = {"last24Hours": reports.DAY, "last7Days": reports.WEEK}
HEADINGS = ("LAST 24 HOURS", "LAST 7 DAYS")


class Command(ServiceCommand):
    help = (
        "Reports a partner's requests of the last 24 hours and 7 days by status, authentication failures by cause,"
        " clock skew, and API keys. Periods begin with a whole hour. Counts are up to 10 seconds old."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("slug", metavar="SLUG", help="the partner's slug")

    def perform(self, *, slug: str, **_: Any) -> Outcome:
        partner = find_partner(slug)
        data = {
            "slug": partner.slug,
            "name": partner.name,
            "mode": partner.mode,
            "enabled": partner.enabled,
            "rateLimit": partner.effective_rate_limit,
            **{name: _usage(partner, period) for name, period in PERIODS.items()},
            "apiKeys": [_key_with_age(key) for key in partner.api_keys.all()],
        }
        return Outcome(data, _lines(data))


# For --json


def _usage(partner: Partner, period: timedelta) -> dict[str, Any]:
    requests = reports.requests_of(partner.pk, period=period)
    busiest = requests.busiest
    skews = {
        prefix: {"requests": skew.requests, "medianSeconds": skew.median_seconds, "worstSeconds": skew.worst_seconds}
        for prefix, skew in reports.clock_skew_of(partner.pk, period=period).items()
    }
    return {
        "since": rfc_3339(reports.first_hour(period)),
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
            for failures in reports.failures_of(partner.pk, period=period)
        ],
        "clock": skews.pop("", None),
        "clockByKey": skews,
    }


def _key_with_age(key: ApiKey) -> dict[str, Any]:
    return key_data(key) | {
        "ageDays": _days_since(key.created_at),
        "expiresInDays": None if key.expires_at is None else -_days_since(key.expires_at),
    }


def _days_since(instant: datetime) -> int:
    """Whole days, rounded towards zero."""
    return int((timezone.now() - instant) / reports.DAY)


# For people


def _lines(report: dict[str, Any]) -> Iterator[str]:
    periods = [report[name] for name in PERIODS]
    state = "enabled" if report["enabled"] else "disabled"
    yield f"{report['name']} ({report['slug']}), {report['mode']}, {state}, rate limit {report['rateLimit']}"
    yield f"Whole hours, since {' and since '.join(_hour(period['since']) for period in periods)}."
    fields = ("prefix", "label", "state", "ageDays", "lastUsedAt", "expiresAt", "expiresInDays")
    headings = ("PREFIX", "LABEL", "STATE", "AGE, DAYS", "LAST USED", "EXPIRES", "EXPIRES IN, DAYS")
    yield from _section("API keys", headings, ([key[field] for field in fields] for key in report["apiKeys"]))
    yield from _section("Requests", ("STATUS", *HEADINGS), _requests([period["requests"] for period in periods]))
    failures = [period["unauthorized"] for period in periods]
    yield from _section("Unauthorized", ("CAUSE", "KEY", *HEADINGS, "CLOCK, 7 DAYS"), _failures(failures))
    for cause in dict.fromkeys(failure["cause"] for failure in failures[-1]):
        yield f"  {cause}: {AuthenticationFailure(cause).advice}"
    skew_headings = ("KEY", *(f"{value}, {heading}" for value in ("MEDIAN", "WORST") for heading in HEADINGS))
    yield from _section("Clock skew", skew_headings, _clock_skew(periods))


def _section(title: str, headings: Sequence[str], rows: Iterable[Sequence[object]]) -> Iterator[str]:
    rows = list(rows)
    yield ""
    yield title if rows else f"{title}: none"
    if rows:
        yield from (f"  {line}" for line in table(headings, rows))


# The last period includes the others.


def _requests(periods: list[dict[str, Any]]) -> Iterator[Sequence[object]]:
    if not periods[-1]["total"]:
        return
    for status in periods[-1]["byStatus"]:
        yield status, *(requests["byStatus"].get(status, 0) for requests in periods)
    for name in ("total", "replayed"):
        yield name, *(requests[name] for requests in periods)
    yield "errors", *(f"{one['errors']} ({one['errorShare']:.1%})" if one["total"] else 0 for one in periods)
    busiest = [requests["busiestHour"] for requests in periods]
    yield "busiest hour", *(hour and f"{hour['requests']} ({_hour(hour['begins'])})" for hour in busiest)


def _hour(begins: str) -> str:
    return f"{begins[:10]} {begins[11:16]} UTC"


def _failures(periods: list[list[dict[str, Any]]]) -> Iterator[Sequence[object]]:
    counts = [{(one["cause"], one["key"]): one["requests"] for one in failures} for failures in periods]
    for failure in periods[-1]:
        cause, key, worst = failure["cause"], failure["key"], failure["worstSkewSeconds"]
        skew = cause == AuthenticationFailure.CLOCK_SKEW and worst is not None and clock_skew.worst_text(worst)
        yield cause, key, *(count.get((cause, key), 0) for count in counts), skew or ""


def _clock_skew(periods: list[dict[str, Any]]) -> Iterator[Sequence[object]]:
    if periods[-1]["clock"]:
        yield "all", *_skew_texts([period["clock"] for period in periods])
    for prefix in periods[-1]["clockByKey"]:
        yield prefix, *_skew_texts([period["clockByKey"].get(prefix) for period in periods])


def _skew_texts(skews: list[dict[str, Any] | None]) -> list[object]:
    return [skew and clock_skew.text(skew[field]) for field in ("medianSeconds", "worstSeconds") for skew in skews]
