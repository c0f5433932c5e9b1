"""The dashboard's figures of decisions of two people: the index proposal_by_end is read for the period."""

from dataclasses import dataclass

from backoffice.dashboard.period import Period
from partners.db import statements
from users.models import Staff

_FIGURES = """
    SELECT by_id, count(*) FILTER (WHERE state = 'approved'), count(*) FILTER (WHERE state = 'declined'),
           percentile_disc(0.5) WITHIN GROUP (ORDER BY extract(epoch FROM ended_at - created_at)::int)
      FROM users_proposal WHERE state IN ('approved', 'declined') AND ended_at >= %s AND ended_at < %s
     GROUP BY by_id
"""


@dataclass(frozen=True, slots=True)
class ProposerFigures:
    """What became of one person's proposals. median_seconds: until the second person's answer."""

    staff: Staff
    approved: int
    declined: int
    median_seconds: int

    @property
    def declined_percent(self) -> int:
        """The declined share of those that were answered."""
        return round(100 * self.declined / (self.approved + self.declined))


def gather(period: Period, *, only: Staff | None = None) -> list[ProposerFigures]:
    """The figures of proposals answered in it, of each person or of `only` one, who proposed most first."""
    rows = statements.fetch_all(_FIGURES, (period.begins, period.ends))
    wanted = {pk for pk, *_figures in rows}
    staff = Staff.objects.in_bulk(wanted if only is None else wanted & {only.pk})
    found = [ProposerFigures(staff[pk], *figures) for pk, *figures in rows if pk in staff]
    return sorted(found, key=lambda one: (-one.approved - one.declined, one.staff.username))
