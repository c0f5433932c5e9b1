"""A partner's requests, authentication failures and clock skew of the last whole hours, from partners_apiusage."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from django.db.models import Max, Min, Q, QuerySet, Sum

from partners.models import ApiUsage
from partners.usage import recording
from partners.usage.failures import AuthenticationFailure

DAY = timedelta(days=1)
WEEK = timedelta(days=7)


@dataclass(frozen=True, slots=True)
class Requests:
    """A partner's requests within a period. by_status: the number for each HTTP status, lowest first."""

    by_status: Mapping[int, int]
    replayed: int

    @property
    def total(self) -> int:
        """All requests."""
        return sum(self.by_status.values())


class Failures(NamedTuple):
    """Authentication failures with one cause and key. prefix: empty if the key is unknown."""

    failure: AuthenticationFailure
    prefix: str
    key_id: int | None
    requests: int
    worst_skew_seconds: int | None
    latest_hour: datetime


class Skew(NamedTuple):
    """The clock skew of some requests (partners/usage/clock_skew.py)."""

    requests: int
    median_seconds: int
    worst_seconds: int


def first_hour(period: timedelta) -> datetime:
    """The beginning of the last `period`, a whole hour."""
    return datetime.fromtimestamp(recording.present_hour() * recording.HOUR_SECONDS, UTC) - period


def requests_of(partner_id: int, *, period: timedelta) -> Requests:
    """A partner's requests."""
    statuses: Counter[int] = Counter()
    replays = 0
    counted = _usage(partner_id, period).values_list("status", "replayed").annotate(requests=Sum("count"))
    for status, replayed, requests in counted:
        statuses[status] += requests
        replays += requests if replayed else 0
    return Requests(dict(sorted(statuses.items())), replays)


def failures_of(partner_id: int | None, *, period: timedelta = DAY) -> list[Failures]:
    """Authentication failures with a partner's keys, or with unknown keys (None), most frequent first."""
    counted = (
        _usage(partner_id, period)
        .exclude(failure="")
        .values_list("failure", "key__prefix", "key_id")
        .annotate(requests=Sum("count"), lowest=Min("skew_seconds"), highest=Max("skew_seconds"), latest=Max("hour"))
        .order_by("-requests", "failure", "key__prefix")
    )
    return [
        Failures(
            AuthenticationFailure(failure),
            prefix or "",
            key_id,
            requests,
            None if lowest is None else max(lowest, highest, key=abs),
            latest,
        )
        for failure, prefix, key_id, requests, lowest, highest, latest in counted
    ]


def clock_skew_of(partner_id: int, *, period: timedelta) -> Skew | None:
    """A partner's clock skew; None without a readable timestamp."""
    counted = _usage(partner_id, period).filter(skew_seconds__isnull=False).values_list("skew_seconds")
    skews = Counter(dict(counted.annotate(requests=Sum("count"))))
    return Skew(skews.total(), _median(skews), max(skews, key=abs)) if skews else None


def _median(counts: Counter[int]) -> int:
    seen = 0
    for value in sorted(counts):
        seen += counts[value]
        if seen * 2 >= counts.total():
            break
    return value


def _usage(partner_id: int | None, period: timedelta) -> QuerySet[ApiUsage]:
    return ApiUsage.objects.filter(Q(partner_id=partner_id), hour__gte=first_hour(period))
