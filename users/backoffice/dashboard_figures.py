"""The figures of the dashboard, each by one statement that an index answers alone.

Waiting is read from user_waiting, decisions from status_change_by_day: what they cost hangs on how many
wait and how many were decided within the period, not on how many users there are. Measured with 1,000,000
users of whom 30,000 wait, and 192,000 decisions in 90 days: see docs/decisions.md.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from itertools import pairwise
from typing import NamedTuple
from zoneinfo import ZoneInfo

from django.conf import settings
from django.utils import timezone

from partners.db import statements
from partners.models import Partner
from users.models import Status

# Where a wait begins to count as the next bucket, in parts of the target.
BUCKETS = (0.5, 1.0, 2.0, 4.0)
# Decisions as people count them: by where they led.
OUTCOMES = (Status.ACTIVE, Status.REJECTED, Status.SUSPENDED, Status.CLOSED, Status.PENDING_COMPLIANCE)


@dataclass(frozen=True, slots=True)
class Period:
    """The last `days` days of the compliance desk's time zone, the present one included."""

    days: int
    today: date
    zone: ZoneInfo

    @classmethod
    def ending_now(cls, days: int) -> "Period":
        """The one that ends with the present day."""
        zone = ZoneInfo(settings.COMPLIANCE_TIME_ZONE)
        return cls(days, timezone.now().astimezone(zone).date(), zone)

    @property
    def dates(self) -> list[date]:
        """Every day of it, in order."""
        return [self.today - timedelta(days=n) for n in reversed(range(self.days))]

    @property
    def midnights(self) -> list[datetime]:
        """When each of them begins: days of 23 and of 25 hours are days too."""
        return [datetime.combine(day, time(), self.zone) for day in self.dates]


class Waited(NamedTuple):
    """How long first decisions took, in seconds: half of them at most `median`, nine of ten at most `ninetieth`."""

    median: int
    ninetieth: int


@dataclass(frozen=True, slots=True)
class Bucket:
    """How many wait for at least `begins` hours and less than `ends` (None: for longer)."""

    begins: float
    ends: float | None
    count: int
    is_late: bool


@dataclass(frozen=True, slots=True)
class PartnerFigures:
    """A partner's part of the figures. late: of those waiting. outcomes: decisions by where they led."""

    partner: Partner
    waiting: int
    late: int
    outcomes: Mapping[str, int]
    waited: Waited | None

    @property
    def decisions(self) -> int:
        """All of them."""
        return sum(self.outcomes.values())


@dataclass(frozen=True, slots=True)
class Figures:
    """What the dashboard shows. by_day: each day of the period, with its decisions by where they led."""

    period: Period
    target_hours: int
    buckets: Sequence[Bucket]
    by_day: Mapping[date, Mapping[str, int]]
    waited: Waited | None
    partners: Sequence[PartnerFigures]

    @property
    def waiting(self) -> int:
        """How many users wait for a decision now."""
        return sum(bucket.count for bucket in self.buckets)

    @property
    def late(self) -> int:
        """How many of them for longer than the target."""
        return sum(bucket.count for bucket in self.buckets if bucket.is_late)

    @property
    def outcomes(self) -> Mapping[str, int]:
        """Decisions of the period by where they led."""
        return sum((Counter(one) for one in self.by_day.values()), Counter[str]())

    @property
    def decisions(self) -> int:
        """How many decisions were made within the period."""
        return sum(self.outcomes.values())


class _Waiting(NamedTuple):
    # How many of the buckets' bounds a wait has reached.
    bucket: int
    partner_id: int
    users: int


class _Decided(NamedTuple):
    # 1 for the period's first.
    day: int
    partner_id: int
    outcome: str
    decisions: int


_WAITING = """
    SELECT width_bucket(date_part('epoch', now() - status_since) / 3600, %s::float8[]), partner_id, count(*)
      FROM users_user WHERE status = %s GROUP BY 1, 2
"""
# Midnights as parameters: converting each row's instant into the desk's zone would cost twice as much.
_DECISIONS = """
    SELECT width_bucket(created_at, %s::timestamptz[]), partner_id, to_status, count(*)
      FROM users_statuschange WHERE created_at >= %s GROUP BY 1, 2, 3
"""
# Of first decisions alone: nobody queues for a suspension. Over all partners where partner_id is null.
_WAITED = """
    SELECT partner_id,
           percentile_disc(ARRAY[0.5, 0.9]) WITHIN GROUP (ORDER BY date_part('epoch', created_at - since)::int)
      FROM users_statuschange WHERE created_at >= %s AND from_status = %s
     GROUP BY GROUPING SETS ((), (partner_id))
"""


def gather(days: int) -> Figures:
    """The figures of now and of the last `days` days."""
    period, target = Period.ending_now(days), settings.COMPLIANCE_TARGET_HOURS
    midnights = period.midnights
    bounds = [target * part for part in BUCKETS]
    waiting = [_Waiting(*row) for row in statements.fetch_all(_WAITING, (bounds, Status.PENDING_COMPLIANCE.value))]
    decided = [_Decided(*row) for row in statements.fetch_all(_DECISIONS, (midnights, midnights[0]))]
    took = {
        partner_id: Waited(*percentiles)
        for partner_id, percentiles in statements.fetch_all(_WAITED, (midnights[0], Status.PENDING_COMPLIANCE.value))
        if percentiles is not None
    }
    return Figures(
        period=period,
        target_hours=target,
        buckets=_buckets(bounds, target, waiting),
        by_day=_by_day(period, decided),
        waited=took.get(None),
        partners=list(_by_partner(waiting, decided, took, first_late=BUCKETS.index(1.0) + 1)),
    )


def _buckets(bounds: Sequence[float], target: int, waiting: Iterable[_Waiting]) -> list[Bucket]:
    counts = Counter[int]()
    for one in waiting:
        counts[one.bucket] += one.users
    return [
        Bucket(begins or 0, ends, counts[number], is_late=(begins or 0) >= target)
        for number, (begins, ends) in enumerate(pairwise([None, *bounds, None]))
    ]


def _by_day(period: Period, decided: Iterable[_Decided]) -> dict[date, Counter[str]]:
    days = {day: Counter[str]() for day in period.dates}
    dates = period.dates
    for one in decided:
        days[dates[one.day - 1]][one.outcome] += one.decisions
    return days


def _by_partner(
    waiting: Sequence[_Waiting],
    decided: Sequence[_Decided],
    took: Mapping[int | None, Waited],
    *,
    first_late: int,
) -> Iterable[PartnerFigures]:
    """Partners with anything to show, those with the most to do first."""
    wait, late, outcomes = Counter[int](), Counter[int](), dict[int, Counter[str]]()
    for one in waiting:
        wait[one.partner_id] += one.users
        late[one.partner_id] += one.users if one.bucket >= first_late else 0
    for row in decided:
        outcomes.setdefault(row.partner_id, Counter())[row.outcome] += row.decisions
    shown = Partner.objects.filter(pk__in=[*wait, *outcomes])
    for partner in sorted(shown, key=lambda partner: (-late[partner.pk], -wait[partner.pk], partner.slug)):
        yield PartnerFigures(
            partner, wait[partner.pk], late[partner.pk], outcomes.get(partner.pk, {}), took.get(partner.pk)
        )
