"""The dashboard's figures of those who decide, from what is kept with each decision.

They count decisions about real users. The cost depends on the decisions of the period: decision_basis_by_day and
status_change_by_day are read, and each reversal finds the decision before it in status_change_of_user.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db.models import F, Q, QuerySet

from backoffice.dashboard.figures import compose
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
    SELECT staff_id, count(*), count(*) FILTER (WHERE open_seconds IS NULL),
           percentile_disc(0.5) WITHIN GROUP (ORDER BY open_seconds)
      FROM ({rows}) AS decided GROUP BY staff_id
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

    unopened: decisions by somebody who had not opened the case. reversals: in the period, of this person's decisions,
    within REVERSAL_DAYS. median_seconds: the median time for which a case was open before; None where none was.
    """

    staff: Staff
    decisions: int = 0
    unopened: int = 0
    reversals: int = 0
    median_seconds: int | None = None


def bases_since(first: datetime) -> QuerySet[DecisionBasis, Any]:
    """Return what the figures of decisions are computed from."""
    kept = live(DecisionBasis.objects.filter(created_at__gte=first, decision__isnull=False))
    return kept.values_list("staff_id", "open_seconds")


def reversals_since(first: datetime) -> QuerySet[StatusChange, Any]:
    """Return the decisions that undid another of the REVERSAL_DAYS before."""
    pairs = Q(*(Q(from_status=start, to_status=end) for start, end in _REVERSALS), _connector=Q.OR)
    soon = Q(created_at__lte=F("since") + timedelta(days=REVERSAL_DAYS))
    return (
        live(StatusChange.objects.filter(pairs, soon, created_at__gte=first)).order_by().values_list("user_id", "since")
    )


def gather(first: datetime, *, only: Staff | None = None) -> list[ReviewerFigures]:
    """Return the figures since then, of each person or of `only` one, who decided most first."""
    kept = statements.fetch_all(*compose(_BASES, bases_since(first)))
    undone: dict[int, int] = dict(statements.fetch_all(*compose(_REVERSED, reversals_since(first))))
    wanted = {pk for pk, *_figures in kept} | undone.keys()
    staff = Staff.objects.in_bulk(wanted if only is None else wanted & {only.pk})
    figures = {pk: ReviewerFigures(person, reversals=undone.get(pk, 0)) for pk, person in staff.items()}
    for pk, decisions, unopened, median in kept:
        if pk in figures:
            one = figures[pk]
            one.decisions, one.unopened, one.median_seconds = decisions, unopened, median
    return sorted(figures.values(), key=lambda one: (-one.decisions, one.staff.username))
