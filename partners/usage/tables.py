"""Usage tables on a partner's page in the back office."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.translation import gettext_lazy as _

from partners.admin.pages import Table
from partners.models import Partner
from partners.usage import clock_skew, reports
from partners.usage.failures import AuthenticationFailure
from partners.usage.reports import Failures, Requests, Skew

PERIODS = (reports.DAY, reports.WEEK)


def requests_table(partner: Partner) -> Table:
    """Requests by status, and clock skew, of a day and a week."""
    requests = [reports.requests_of(partner.pk, period=period) for period in PERIODS]
    skews = [reports.clock_skew_of(partner.pk, period=period) for period in PERIODS]
    return Table(
        title=_("Requests"),
        headings=(_("status"), _("last 24 hours"), _("last 7 days")),
        rows=[*_status_rows(requests), *_skew_rows(skews)] if requests[-1].total else [],
        note=_("Of whole hours, so up to one more. Requests with an unknown key are not included."),
        empty=_("No request with one of this partner's keys was counted."),
    )


def _status_rows(periods: list[Requests]) -> Iterator[tuple[Any, ...]]:
    for status in sorted({status for period in periods for status in period.by_status}):
        yield str(status), *(period.by_status.get(status, 0) for period in periods)
    yield _("all"), *(period.total for period in periods)
    yield _("of these replayed"), *(period.replayed for period in periods)


def _skew_rows(periods: list[Skew | None]) -> Iterator[tuple[Any, ...]]:
    yield _("clock skew, median"), *(clock_skew.text(skew.median_seconds) if skew else "–" for skew in periods)
    yield _("clock skew, worst"), *(clock_skew.text(skew.worst_seconds) if skew else "–" for skew in periods)


def failures_table(partner: Partner) -> Table:
    """Authentication failures of the last 24 hours: with this partner's keys, and with unknown ones."""
    return Table(
        title=_("Authentication failures, last 24 hours"),
        headings=(_("cause"), _("key"), _("requests"), _("latest"), _("what to ask")),
        rows=list(_failure_rows(partner)),
        note=_("By the key that was sent. The partner sees none of this; counts are some seconds old."),
        empty=_("No request with one of this partner's keys was refused."),
    )


def _failure_rows(partner: Partner) -> Iterator[tuple[Any, ...]]:
    for failures in reports.failures_of(partner.pk):
        link = reverse("admin:partners_apikey_change", args=(failures.key_id,))
        yield _failure_row(failures, format_html('<a href="{}">{}</a>', link, failures.prefix))
    for failures in reports.failures_of(None):
        # Shown for every partner: the one that calls support may have sent them.
        if failures.failure == AuthenticationFailure.UNKNOWN_KEY:
            yield _failure_row(failures, _("of any caller"))


def _failure_row(failures: Failures, key: Any) -> tuple[Any, ...]:
    begins = timezone.localtime(failures.latest_hour)
    return (
        failures.failure.label,
        key,
        _request_count(failures),
        format_html('<span class="bo-nowrap">{}</span>', f"{begins:%H:%M}–{begins + timedelta(hours=1):%H:%M %Z}"),
        format_html('<span class="bo-wide">{}</span>', failures.failure.advice),
    )


def _request_count(failures: Failures) -> str:
    if failures.failure != AuthenticationFailure.CLOCK_SKEW or failures.worst_skew_seconds is None:
        return str(failures.requests)
    return f"{failures.requests} ({clock_skew.worst_text(failures.worst_skew_seconds)})"
