"""All figures of the dashboard that a person may see, in a fixed number of statements."""

from dataclasses import dataclass

from backoffice.access import OVERSIGHT_PERMISSION
from backoffice.dashboard import backlog, figures, proposal_figures, rejections, reviewer_figures
from backoffice.dashboard.backlog import Backlog
from backoffice.dashboard.figures import Figures
from backoffice.dashboard.period import Period
from backoffice.dashboard.proposal_figures import ProposerFigures
from backoffice.dashboard.rejections import Rejections
from backoffice.dashboard.reviewer_figures import ReviewerFigures
from users.decisions.risk_flags import FlagCode, is_visible
from users.models import Staff
from users.models.columns import IDENTITY_PERMISSION


@dataclass(frozen=True, slots=True)
class Board:
    """The figures. sees_all: whether those of people are of all who decide, or of the reader alone."""

    period: Period
    sees_all: bool
    flags: list[FlagCode]
    figures: Figures
    backlog: Backlog
    rejections: Rejections
    rejections_before: Rejections
    reviewers: list[ReviewerFigures]
    proposers: list[ProposerFigures]


def gather(reader: Staff, period: Period) -> Board:
    """Return what this person may see."""
    sees_all, sees_identity = reader.has_perm(OVERSIGHT_PERMISSION), reader.has_perm(IDENTITY_PERMISSION)
    only = None if sees_all else reader
    flags = [code for code in FlagCode if is_visible(code, sees_identity=sees_identity)]
    rejected, rejected_before = rejections.gather(period, flags)
    return Board(
        period,
        sees_all,
        flags,
        figures.gather(period),
        backlog.gather(period),
        rejected,
        rejected_before,
        reviewer_figures.gather(period, rejected.by_staff, only=only),
        proposal_figures.gather(period, only=only),
    )
