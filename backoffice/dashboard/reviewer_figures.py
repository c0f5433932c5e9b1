"""The dashboard's figures of those who decide, from what is kept with each decision.

They count decisions about real users. The cost depends on the decisions of the period: decision_basis_by_day and
status_change_by_day are read, and each reversal finds the decision before it in status_change_of_user.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.db.models import F, Q, QuerySet

from backoffice.dashboard.figures import compose
from backoffice.dashboard.period import Period
from partners.db import statements
from users.cases.modes import live
from users.models import DecisionBasis, Staff, Status, StatusChange

REVERSAL_DAYS = 30
# A decision that undoes the one before: by the status that this led to, and the new one. Closing an account does not.
_REVERSALS = (
    (Status.ACTIVE, Status.SUSPENDED),
    (Status.SUSPENDED, Status.ACTIVE),
    (Status.REJECTED, Status.PENDING_COMPLIANCE),
)
# {rows}: see compose.
_BASES = """
    SELECT created_at >= %s, staff_id, count(*), count(*) FILTER (WHERE open_seconds IS NULL),
           count(*) FILTER (WHERE open_seconds IS NULL AND NOT is_of_two),
           percentile_disc(0.5) WITHIN GROUP (ORDER BY open_seconds)
      FROM ({rows}) AS decided GROUP BY 1, 2
"""
# `since` of a decision is the time of the one before.
_REVERSED = """
    SELECT earlier.by_id, count(*)
      FROM ({rows}) AS later
      JOIN users_statuschange earlier ON earlier.user_id = later.user_id AND earlier.created_at = later.since
     GROUP BY earlier.by_id
"""


@dataclass(slots=True)
class ReviewerFigures:
    """The figures of one person in a period.

    unopened: decisions by somebody who had not opened the case. alone: those of them that took one person. reversals:
    in the period, of this person's decisions, within REVERSAL_DAYS. median_seconds: the median time for which a case
    was open before; None where none was. alone_before: in the period before.
    """

    staff: Staff
    decisions: int = 0
    rejections: int = 0
    unopened: int = 0
    alone: int = 0
    reversals: int = 0
    median_seconds: int | None = None
    alone_before: int = 0

    @property
    def is_of_period(self) -> bool:
        """Whether there is anything but the period before."""
        return bool(self.decisions or self.rejections or self.reversals)


def bases_of(period: Period) -> QuerySet[DecisionBasis, Any]:
    """Return what the figures of decisions are computed from: those of the period and of the one before."""
    both = {"created_at__gte": period.before.begins, "created_at__lt": period.ends}
    kept = live(DecisionBasis.objects.filter(**both, decision__isnull=False))
    return kept.values_list("created_at", "staff_id", "open_seconds", "is_of_two")


def reversals_of(period: Period) -> QuerySet[StatusChange, Any]:
    """Return the decisions of the period that undid another of the REVERSAL_DAYS before."""
    pairs = Q(*(Q(from_status=start, to_status=end) for start, end in _REVERSALS), _connector=Q.OR)
    soon = Q(created_at__lte=F("since") + timedelta(days=REVERSAL_DAYS))
    made = StatusChange.objects.filter(pairs, soon, created_at__gte=period.begins, created_at__lt=period.ends)
    return live(made).order_by().values_list("user_id", "since")


def gather(period: Period, rejections: Mapping[int, int], *, only: Staff | None = None) -> list[ReviewerFigures]:
    """Return the figures of each person or of `only` one, who decided most first. rejections: by the person's id."""
    kept = statements.fetch_all(*compose(_BASES, bases_of(period), period.begins))
    undone: dict[int, int] = dict(statements.fetch_all(*compose(_REVERSED, reversals_of(period))))
    wanted = {row[1] for row in kept} | undone.keys() | rejections.keys()
    staff = Staff.objects.in_bulk(wanted if only is None else wanted & {only.pk})
    figures = {
        pk: ReviewerFigures(person, rejections=rejections.get(pk, 0), reversals=undone.get(pk, 0))
        for pk, person in staff.items()
    }
    for is_in_period, pk, decisions, unopened, alone, median in kept:
        if (one := figures.get(pk)) is None:
            continue
        if is_in_period:
            one.decisions, one.unopened, one.alone, one.median_seconds = decisions, unopened, alone, median
        else:
            one.alone_before = alone
    return sorted(figures.values(), key=lambda one: (-one.decisions, one.staff.username))
