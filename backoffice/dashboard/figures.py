"""The figures of the dashboard, each from one index-only scan.

They count real users only. Waiting users are read from user_waiting, decisions from status_change_by_day: the cost
depends on how many users wait and how many decisions the period has, not on the number of users. Measured in
docs/decisions.md.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo

from django.conf import settings
from django.db.models import QuerySet
from django.utils import timezone

from partners.db import statements
from partners.models import Partner
from users.cases.modes import live
from users.models import QueueSection, Status, StatusChange, User

# Lower bounds of the buckets after the first, in parts of the target.
BUCKETS = (0.5, 1.0, 2.0, 4.0)
FIRST_LATE_BUCKET = BUCKETS.index(1.0) + 1
# The statuses that decisions lead to.
OUTCOMES = (Status.ACTIVE, Status.REJECTED, Status.SUSPENDED, Status.CLOSED, Status.PENDING_COMPLIANCE)

# {rows}: those of real users; see compose.
# Those who wait for their partner are in no bucket: that time does not count against the target.
_WAITING = f"""
    SELECT CASE WHEN queue_section < {QueueSection.PARTNER:d}
                THEN width_bucket(date_part('epoch', now() - section_since) / 3600, %s::float8[]) END,
           partner_id, count(*)
      FROM ({{rows}}) AS waiting GROUP BY 1, 2
"""
# Midnights are parameters: to convert each row's created_at into the time zone would cost twice as much.
_DECISIONS = """
    SELECT width_bucket(created_at, %s::timestamptz[]), partner_id, to_status, count(*), count(proposal_id)
      FROM ({rows}) AS decided GROUP BY 1, 2, 3
"""
# Decisions of users who wait only: nobody waits for a suspension. partner_id is null for all partners together.
_DECISION_TIMES = """
    SELECT partner_id,
           percentile_disc(ARRAY[0.5, 0.9]) WITHIN GROUP (ORDER BY date_part('epoch', created_at - since)::int),
           percentile_disc(ARRAY[0.5, 0.9])
               WITHIN GROUP (ORDER BY date_part('epoch', created_at - since - partner_wait)::int)
      FROM ({rows}) AS decided
     GROUP BY GROUPING SETS ((), (partner_id)) HAVING count(*) > 0
"""


class Percentiles(NamedTuple):
    """Percentiles of the time from entering to leaving the queue, in seconds."""

    median: int
    ninetieth: int


class DecisionTimes(NamedTuple):
    """Times to decision. own: without the time that waited for the partner."""

    total: Percentiles
    own: Percentiles


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

    waiting: for compliance. late: of those. asked: waiting for the partner. outcomes: decisions by the status they led
    to.
    """

    partner: Partner
    waiting: int = 0
    late: int = 0
    asked: int = 0
    outcomes: Counter[str] = field(default_factory=Counter)
    decision_times: DecisionTimes | None = None


@dataclass(frozen=True, slots=True)
class Figures:
    """The figures of the dashboard.

    begins: of the period. by_day: decisions by day and by the status they led to. of_two: those of two people, by day.
    """

    time_zone: ZoneInfo
    begins: datetime
    target_hours: int
    buckets: Sequence[Bucket]
    by_day: dict[date, Counter[str]]
    of_two: Counter[date]
    decision_times: DecisionTimes | None
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
    def late(self) -> int:
        """The number of users who have waited longer than the target."""
        return sum(bucket.count for bucket in self.buckets if bucket.is_late)

    @property
    def decisions(self) -> int:
        """The number of decisions in the period."""
        return sum(outcomes.total() for outcomes in self.by_day.values())


def midnights(days: int, zone: ZoneInfo) -> list[datetime]:
    """Return the beginnings of the last `days` days, today included; a day may have 23 or 25 hours."""
    today = timezone.now().astimezone(zone).date()
    return [datetime.combine(today - timedelta(days=ago), time(), zone) for ago in reversed(range(days))]


def waiting_users() -> QuerySet[User, Any]:
    """Return what the figures of waiting users are computed from."""
    return live(User.objects.filter(status=Status.PENDING_COMPLIANCE)).values_list(
        "queue_section", "section_since", "partner_id"
    )


def decisions_since(first: datetime, **conditions: str) -> QuerySet[StatusChange, Any]:
    """Return what the figures of decisions are computed from."""
    made = live(StatusChange.objects.filter(created_at__gte=first, **conditions)).order_by()
    return made.values_list("created_at", "partner_id", "to_status", "since", "partner_wait", "proposal_id")


def compose(statement: str, rows: QuerySet[Any, Any], *parameters: object) -> tuple[str, tuple[Any, ...]]:
    """Return a statement on these rows, and its parameters. PostgreSQL plans it as if it named their table."""
    sql, given = rows.query.sql_with_params()
    return statement.format(rows=sql), (*parameters, *given)


def gather(days: int) -> Figures:
    """Return the figures of now and of the last `days` days in the time zone of compliance."""
    zone, target = ZoneInfo(settings.COMPLIANCE_TIME_ZONE), settings.COMPLIANCE_TARGET_HOURS
    starts, bounds = midnights(days, zone), [target * part for part in BUCKETS]
    waiting = statements.fetch_all(*compose(_WAITING, waiting_users(), bounds))
    decisions = statements.fetch_all(*compose(_DECISIONS, decisions_since(starts[0]), starts))
    first_decisions = decisions_since(starts[0], from_status=Status.PENDING_COMPLIANCE)
    decision_times = {
        partner_id: DecisionTimes(Percentiles(*total), Percentiles(*own))
        for partner_id, total, own in statements.fetch_all(*compose(_DECISION_TIMES, first_decisions))
    }

    partner_ids = {partner_id for _, partner_id, *_ in (*waiting, *decisions)}
    partners = {pk: PartnerFigures(partner) for pk, partner in Partner.objects.in_bulk(partner_ids).items()}
    counts, by_day = Counter[int](), {start.date(): Counter[str]() for start in starts}
    of_two = Counter[date]()
    for bucket, partner_id, count in waiting:
        if bucket is None:
            partners[partner_id].asked += count
            continue
        counts[bucket] += count
        partners[partner_id].waiting += count
        partners[partner_id].late += count if bucket >= FIRST_LATE_BUCKET else 0
    for day, partner_id, outcome, count, count_of_two in decisions:
        by_day[starts[day - 1].date()][outcome] += count
        of_two[starts[day - 1].date()] += count_of_two
        partners[partner_id].outcomes[outcome] += count
    for pk, figures in partners.items():
        figures.decision_times = decision_times.get(pk)
    return Figures(
        zone,
        starts[0],
        target,
        [
            Bucket(begins, ends, counts[number], number >= FIRST_LATE_BUCKET)
            for number, (begins, ends) in enumerate(zip((0.0, *bounds), (*bounds, None), strict=True))
        ],
        by_day,
        of_two,
        decision_times.get(None),
        sorted(partners.values(), key=lambda one: (-one.late, -one.waiting, one.partner.slug)),
    )
