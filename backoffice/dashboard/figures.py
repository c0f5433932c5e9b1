"""The figures of the dashboard, each from one index-only scan.

They count real users only. Waiting users are read from user_waiting, decisions from status_change_by_day: the cost
depends on how many users wait and how many decisions the period and the one before have, not on the number of users.
Measured in docs/decisions.md.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta
from typing import Any, NamedTuple

from django.conf import settings
from django.db.models import QuerySet
from django.utils import timezone

from backoffice.dashboard.period import Period, midnight
from partners.db import statements
from partners.models import Partner
from users.cases.modes import live
from users.models import ASKED, Status, StatusChange, User

# Lower bounds of the buckets after the first, in parts of the target.
BUCKETS = (0.5, 1.0, 2.0, 4.0)
FIRST_LATE_BUCKET = BUCKETS.index(1.0) + 1
# The statuses that decisions lead to.
OUTCOMES = (Status.ACTIVE, Status.REJECTED, Status.SUSPENDED, Status.CLOSED, Status.PENDING_COMPLIANCE)

# {rows}: those of real users; see compose.
# Those who wait for their partner are in no bucket: that time does not count against the target.
_WAITING = """
    SELECT width_bucket(date_part('epoch', now() - waiting_since) / 3600, %s::float8[]),
           partner_id, count(*)
      FROM ({rows}) AS waiting GROUP BY 1, 2
"""
_OVERDUE = "SELECT partner_id, count(*) FROM ({rows}) AS overdue GROUP BY 1"
# Midnights are parameters: to convert each row's created_at into the time zone would cost twice as much.
_DECISIONS = """
    SELECT width_bucket(created_at, %s::timestamptz[]), partner_id, to_status, count(*), count(proposal_id)
      FROM ({rows}) AS decided GROUP BY 1, 2, 3
"""
# Decisions of users who wait only: nobody waits for a suspension. partner_id is null for all partners together.
_DECISION_TIMES = """
    SELECT created_at >= %s, partner_id,
           percentile_disc(ARRAY[0.5, 0.9]) WITHIN GROUP (ORDER BY date_part('epoch', created_at - since)::int),
           percentile_disc(ARRAY[0.5, 0.9]) WITHIN GROUP (ORDER BY date_part('epoch', created_at - waiting_since)::int),
           count(*), count(*) FILTER (WHERE created_at - waiting_since <= %s)
      FROM ({rows}) AS decided
     GROUP BY GROUPING SETS ((1), (1, 2))
"""


class Percentiles(NamedTuple):
    """Percentiles of the time from entering to leaving the queue, in seconds."""

    median: int
    ninetieth: int


class DecisionTimes(NamedTuple):
    """Times to decision. own: without the time that waited for the partner. in_time: decisions within the target."""

    total: Percentiles
    own: Percentiles
    decisions: int
    in_time: int

    @property
    def percent_in_time(self) -> int:
        """The share of the decisions whose own time was within the target; below 100 where one was not."""
        return 100 * self.in_time // self.decisions


@dataclass(frozen=True, slots=True)
class Bucket:
    """The number of users who have waited from `begins` to `ends` hours (None: any longer)."""

    begins: float
    ends: float | None
    count: int
    is_late: bool


@dataclass(slots=True)
class PartnerFigures:
    """The figures of one partner.

    waiting: for compliance. late: of those. asked: waiting for the partner. overdue: users, in any status, about whom
    the partner has not answered in time. outcomes: decisions by the status they led to.
    """

    partner: Partner
    waiting: int = 0
    late: int = 0
    asked: int = 0
    overdue: int = 0
    outcomes: Counter[str] = field(default_factory=Counter)
    decision_times: DecisionTimes | None = None
    times_before: DecisionTimes | None = None


@dataclass(slots=True)
class Decisions:
    """The decisions of a period: by the status they led to, and those of two people."""

    outcomes: Counter[str] = field(default_factory=Counter)
    of_two: int = 0

    def add(self, outcome: str, count: int, of_two: int) -> None:
        """Add decisions, and how many of them two people made."""
        self.outcomes[outcome] += count
        self.of_two += of_two

    @property
    def total(self) -> int:
        """All of them."""
        return self.outcomes.total()

    @property
    def of_one(self) -> int:
        """Those of one person."""
        return self.total - self.of_two


@dataclass(frozen=True, slots=True)
class Figures:
    """The figures of the dashboard. `before` and `times_before` are of the period before."""

    period: Period
    target_hours: int
    buckets: Sequence[Bucket]
    by_day: dict[date, Decisions]
    decisions: Decisions
    before: Decisions
    decision_times: DecisionTimes | None
    times_before: DecisionTimes | None
    partners: Sequence[PartnerFigures]

    @property
    def waiting(self) -> int:
        """The number of users who wait for compliance now."""
        return sum(bucket.count for bucket in self.buckets)

    @property
    def asked(self) -> int:
        """The number of pending users who wait for their partner now."""
        return sum(one.asked for one in self.partners)

    @property
    def overdue(self) -> int:
        """The number of users about whom their partner has not answered in time."""
        return sum(one.overdue for one in self.partners)

    @property
    def late(self) -> int:
        """The number of users who have waited longer than the target."""
        return sum(bucket.count for bucket in self.buckets if bucket.is_late)


def waiting_users() -> QuerySet[User, Any]:
    """Return what the figures of waiting users are computed from."""
    return live(User.objects.filter(status=Status.PENDING_COMPLIANCE)).values_list("waiting_since", "partner_id")


def overdue_users() -> QuerySet[User, Any]:
    """Return those about whom their partner has not answered in time."""
    asked = User.objects.filter(ASKED, requirements_due_at__lt=timezone.now())
    return live(asked).values_list("partner_id")


def decisions_of(period: Period, **conditions: str) -> QuerySet[StatusChange, Any]:
    """Return what the figures of decisions are computed from: those of the period and of the one before."""
    both = {"created_at__gte": period.before.begins, "created_at__lt": period.ends}
    made = live(StatusChange.objects.filter(**both, **conditions)).order_by()
    return made.values_list("created_at", "partner_id", "to_status", "since", "waiting_since", "proposal_id")


def compose(statement: str, rows: QuerySet[Any, Any], *parameters: object) -> tuple[str, tuple[Any, ...]]:
    """Return a statement on these rows, and its parameters. PostgreSQL plans it as if it named their table."""
    sql, given = rows.query.sql_with_params()
    return statement.format(rows=sql), (*parameters, *given)


def gather(period: Period) -> Figures:
    """Return the figures of now, of the period and of the one before."""
    target = settings.COMPLIANCE_TARGET_HOURS
    bounds, days = [target * part for part in BUCKETS], period.days
    waiting = statements.fetch_all(*compose(_WAITING, waiting_users(), bounds))
    overdue = statements.fetch_all(*compose(_OVERDUE, overdue_users()))
    # The first bucket is the period before.
    starts = [period.before.begins, *map(midnight, days)]
    decided = statements.fetch_all(*compose(_DECISIONS, decisions_of(period), starts))
    first_decisions = decisions_of(period, from_status=Status.PENDING_COMPLIANCE)
    parameters = (period.begins, timedelta(hours=target))
    times = {
        (is_in_period, partner_id): DecisionTimes(Percentiles(*total), Percentiles(*own), *counts)
        for is_in_period, partner_id, total, own, *counts in statements.fetch_all(
            *compose(_DECISION_TIMES, first_decisions, *parameters)
        )
    }

    decided_now = [(days[number - 2], *row) for number, *row in decided if number > 1]
    partner_ids = {row[1] for row in (*waiting, *decided_now)} | {partner_id for partner_id, _ in overdue}
    partners = {pk: PartnerFigures(partner) for pk, partner in Partner.objects.in_bulk(partner_ids).items()}
    counts, by_day = Counter[int](), {day: Decisions() for day in days}
    decisions, before = Decisions(), Decisions()
    for bucket, partner_id, count in waiting:
        if bucket is None:
            partners[partner_id].asked += count
            continue
        counts[bucket] += count
        partners[partner_id].waiting += count
        partners[partner_id].late += count if bucket >= FIRST_LATE_BUCKET else 0
    for partner_id, count in overdue:
        partners[partner_id].overdue = count
    for day, partner_id, *row in decided_now:
        by_day[day].add(*row)
        decisions.add(*row)
        partners[partner_id].outcomes[row[0]] += row[1]
    for number, _partner_id, *row in decided:
        if number == 1:
            before.add(*row)
    for pk, figures in partners.items():
        figures.decision_times, figures.times_before = times.get((True, pk)), times.get((False, pk))
    return Figures(
        period,
        target,
        [
            Bucket(begins, ends, counts[number], number >= FIRST_LATE_BUCKET)
            for number, (begins, ends) in enumerate(zip((0.0, *bounds), (*bounds, None), strict=True))
        ],
        by_day,
        decisions,
        before,
        times.get((True, None)),
        times.get((False, None)),
        sorted(partners.values(), key=lambda one: (-one.late, -one.waiting, -one.overdue, one.partner.slug)),
    )
