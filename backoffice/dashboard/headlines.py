"""The figures at the head of the dashboard: of now, and of the period with the one before beside it."""

from dataclasses import dataclass
from datetime import timedelta

from django.contrib.humanize.templatetags.humanize import intcomma
from django.utils.translation import gettext as _

from backoffice.dashboard import links
from backoffice.dashboard.board import Board
from backoffice.dashboard.figures import DecisionTimes
from backoffice.dashboard.table import percent
from backoffice.lists.waiting_time import format_duration
from backoffice.users.decision_filters import ALONE


@dataclass(frozen=True, slots=True)
class Headline:
    """A figure. notes: below it. url: of the list that it counts. is_bad: whether it asks for action."""

    title: str
    text: str
    url: str = ""
    notes: tuple[str, ...] = ()
    is_bad: bool = False


def of_now(board: Board) -> list[Headline]:
    """The figures that no period changes."""
    figures = board.figures
    return [
        Headline(_("Waiting for compliance"), intcomma(figures.waiting), links.waiting()),
        Headline(_("Late"), intcomma(figures.late), links.late(), is_bad=bool(figures.late)),
        Headline(_("Waiting for the partner"), intcomma(figures.asked), links.asked()),
        Headline(_("Overdue answers"), intcomma(figures.overdue), links.overdue(), is_bad=bool(figures.overdue)),
    ]


def of_period(board: Board) -> list[Headline]:
    """The figures of the period, each beside that of the one before."""
    figures, now, before = board.figures, board.figures.decisions, board.figures.before
    people = {"one": intcomma(now.of_one), "two": intcomma(now.of_two)}
    alone, alone_before = (
        sum(one.alone for one in board.reviewers),
        sum(one.alone_before for one in board.reviewers),
    )
    rejected = links.decisions(board.period, links.REJECTED)
    return [
        Headline(
            _("Began to wait"), intcomma(board.backlog.began), notes=(_before(intcomma(board.backlog.began_before)),)
        ),
        Headline(
            _("Decisions"),
            intcomma(now.total),
            links.decisions(board.period),
            (_before(intcomma(before.total)), _("by one person: %(one)s · by two: %(two)s") % people),
        ),
        Headline(
            _("Rejections"),
            intcomma(board.rejections.total),
            rejected,
            (_before(intcomma(board.rejections_before.total)),),
        ),
        Headline(
            _("Within the target"), _share(figures.decision_times), notes=(_before(_share(figures.times_before)),)
        ),
        _time(board, _("Median time"), 0),
        _time(board, _("90th percentile"), 1),
        Headline(
            _("Backlog at the end"),
            intcomma(board.backlog.days[-1].waiting),
            notes=(_before(intcomma(board.backlog.before)),),
        ),
        Headline(
            _("Alone, case not opened") if board.sees_all else _("You alone, case not opened"),
            intcomma(alone),
            links.decisions(board.period, {"opened": ALONE}),
            (_before(intcomma(alone_before)),),
            is_bad=bool(alone),
        ),
    ]


def _before(text: str) -> str:
    return _("before: %(figure)s") % {"figure": text}


def _share(times: DecisionTimes | None) -> str:
    return percent(times and times.percent_in_time).text


def _time(board: Board, title: str, index: int) -> Headline:
    """A percentile of the time to decision, and without the time that waited for the partner."""
    now, before = (
        (format_duration(timedelta(seconds=times.total[index])), format_duration(timedelta(seconds=times.own[index])))
        if times
        else ("–", "–")
        for times in (board.figures.decision_times, board.figures.times_before)
    )
    return Headline(title, now[0], notes=(_before(before[0]), _("without the partner: %(own)s") % {"own": now[1]}))
