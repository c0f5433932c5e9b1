"""The dashboard's figures of rejections, by reason, by who decided and by risk flag.

The cost depends on the rejections of the period and of the one before. status_change_rejected alone has the reasons and
the people; the flags are what was kept with each decision.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from django.db.models import QuerySet

from backoffice.dashboard.figures import compose
from backoffice.dashboard.period import Period
from partners.db import statements
from users.cases.modes import live
from users.decisions.risk_flags import FlagCode
from users.models import Status, StatusChange

_BY_REASON = """
    SELECT created_at >= %s, reason_code, by_id, count(*) FROM ({rows}) AS rejected GROUP BY 1, 2, 3
"""
# A null flag: rejected without any.
_BY_FLAG = """
    SELECT rejected.created_at >= %s, flag ->> 'code', count(*)
      FROM ({rows}) AS rejected
      JOIN users_decisionbasis basis ON basis.decision_id = rejected.id
      LEFT JOIN jsonb_array_elements(basis.data -> 'riskFlags') AS flag ON true
     GROUP BY 1, 2
"""


@dataclass(slots=True)
class Rejections:
    """The rejections of a period.

    by_reason: by the reason's code. by_staff: by the id of who decided. by_flag: by the risk flags that were kept with
    the decision, of which one may have several; None for those without any.
    """

    by_reason: Counter[str] = field(default_factory=Counter)
    by_staff: Counter[int] = field(default_factory=Counter)
    by_flag: Counter[FlagCode | None] = field(default_factory=Counter)

    @property
    def total(self) -> int:
        """All of them."""
        return self.by_reason.total()


def rejections_of(period: Period) -> QuerySet[StatusChange, Any]:
    """Return the rejections of the period and of the one before."""
    both = {"created_at__gte": period.before.begins, "created_at__lt": period.ends}
    rejected = live(StatusChange.objects.filter(to_status=Status.REJECTED, **both))
    return rejected.order_by().values_list("created_at", "reason_code", "by_id", "id")


def gather(period: Period, flags: Sequence[FlagCode]) -> tuple[Rejections, Rejections]:
    """Return those of the period and of the one before. flags: the ones that the reader may see."""
    rows = rejections_of(period)
    now, before = Rejections(), Rejections()
    for is_in_period, code, staff_id, count in statements.fetch_all(*compose(_BY_REASON, rows, period.begins)):
        one = now if is_in_period else before
        one.by_reason[code] += count
        one.by_staff[staff_id] += count
    for is_in_period, flag, count in statements.fetch_all(*compose(_BY_FLAG, rows, period.begins)):
        if flag is None or flag in flags:
            (now if is_in_period else before).by_flag[flag and FlagCode(flag)] += count
    return now, before
