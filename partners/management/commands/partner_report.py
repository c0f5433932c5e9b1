from argparse import ArgumentParser
from collections.abc import Iterable, Iterator, Sequence
from datetime import timedelta
from typing import Any

from django.utils import timezone

from partners.api.json import rfc_3339
from partners.management.base import Outcome, ServiceCommand, find_partner, key_data, table
from partners.models import Partner
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
            "apiKeys": [
                key_data(key) | {"ageDays": (timezone.now() - key.created_at).days} for key in partner.api_keys.all()
            ],
        }
        return Outcome(data, _lines(data))


# For --json


def _usage(partner: Partner, period: timedelta) -> dict[str, Any]:
    requests = reports.requests_of(partner.pk, period=period)
    skew = reports.clock_skew_of(partner.pk, period=period)
    return {
        "since": rfc_3339(reports.first_hour(period)),
        "requests": {
            "total": requests.total,
            "byStatus": {str(status): count for status, count in requests.by_status.items()},
            "replayed": requests.replayed,
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
        "clock": skew
        and {"requests": skew.requests, "medianSeconds": skew.median_seconds, "worstSeconds": skew.worst_seconds},
    }


# For people


def _lines(report: dict[str, Any]) -> Iterator[str]:
    periods = [report[name] for name in PERIODS]
    state = "enabled" if report["enabled"] else "disabled"
    yield f"{report['name']} ({report['slug']}), {report['mode']}, {state}, rate limit {report['rateLimit']}"
    yield f"Whole hours, since {' and since '.join(_hour(period['since']) for period in periods)}."
    fields = ("prefix", "label", "state", "ageDays", "lastUsedAt", "expiresAt")
    headings = ("PREFIX", "LABEL", "STATE", "AGE, DAYS", "LAST USED", "EXPIRES")
    yield from _section("API keys", headings, ([key[field] for field in fields] for key in report["apiKeys"]))
    yield from _section("Requests", ("STATUS", *HEADINGS), _requests([period["requests"] for period in periods]))
    failures = [period["unauthorized"] for period in periods]
    yield from _section("Unauthorized", ("CAUSE", "KEY", *HEADINGS, "CLOCK, 7 DAYS"), _failures(failures))
    for cause in dict.fromkeys(failure["cause"] for failure in failures[-1]):
        yield f"  {cause}: {AuthenticationFailure(cause).advice}"
    yield from _section("Clock skew", ("", *HEADINGS), _clock_skew([period["clock"] for period in periods]))


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


def _hour(begins: str) -> str:
    return f"{begins[:10]} {begins[11:16]} UTC"


def _failures(periods: list[list[dict[str, Any]]]) -> Iterator[Sequence[object]]:
    counts = [{(one["cause"], one["key"]): one["requests"] for one in failures} for failures in periods]
    for failure in periods[-1]:
        cause, key, worst = failure["cause"], failure["key"], failure["worstSkewSeconds"]
        skew = cause == AuthenticationFailure.CLOCK_SKEW and worst is not None and clock_skew.worst_text(worst)
        yield cause, key, *(count.get((cause, key), 0) for count in counts), skew or ""


def _clock_skew(periods: list[dict[str, Any] | None]) -> Iterator[Sequence[object]]:
    if periods[-1]:
        for name, field in (("median", "medianSeconds"), ("worst", "worstSeconds")):
            yield name, *(skew and clock_skew.text(skew[field]) for skew in periods)
