"""The tables of the dashboard, in their order on the page."""

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from typing import Any, TypeVar

from django.utils.translation import gettext as _
from django.utils.translation import pgettext_lazy

from backoffice.dashboard import links
from backoffice.dashboard.board import Board
from backoffice.dashboard.figures import OUTCOMES, DecisionTimes, PartnerFigures
from backoffice.dashboard.table import Cell, Column, Table, count, day, hours, minutes, percent, words
from backoffice.lists.waiting_time import AgeState, hours_label
from backoffice.users.decision_filters import ALONE, NO_CODE, NO_FLAG, NOT_OPENED
from users.decisions.reasons import label_of
from users.decisions.risk_flags import TITLES
from users.models import Status

OUTCOME_TITLES: Mapping[Status, Any] = {
    Status.ACTIVE: pgettext_lazy("users", "Activated"),
    Status.REJECTED: pgettext_lazy("users", "Rejected"),
    Status.SUSPENDED: pgettext_lazy("users", "Suspended"),
    Status.CLOSED: pgettext_lazy("users", "Closed"),
    Status.PENDING_COMPLIANCE: pgettext_lazy("users", "Reopened"),
}
Key = TypeVar("Key", bound=Hashable)


def tables(board: Board) -> list[Table]:
    """Return the tables of these figures."""
    made = [
        _waiting(board),
        _backlog(board),
        _decisions(board),
        _partners(board),
        _partner_decisions(board),
        _reasons(board),
        _flags(board),
        _reviewers(board),
    ]
    return [*made, _proposers(board)] if board.proposers else made


def _waiting(board: Board) -> Table:
    buckets, target = board.figures.buckets, _("Target: %(hours)s h") % {"hours": board.figures.target_hours}
    return Table(
        "waiting",
        _("Waiting for a decision, by age"),
        [Column(_("Waiting time"), is_number=False), Column(target, is_number=False), Column(_("Users"))],
        [
            [
                words(hours_label(one.begins, one.ends)),
                words(str(AgeState.LATE.label), badge="bad") if one.is_late else words(str(AgeState.IN_TIME.label)),
                count(one.count, links.waiting_for(one)),
            ]
            for one in buckets
        ]
        if board.figures.waiting
        else [],
        note=_("Now, independent of the period. Time that waits for the partner does not count."),
        empty=_("The queue is empty."),
        chart=_("Bar chart of the waiting users by age. The table beside it has the figures."),
        chart_beside=True,
    )


def _backlog(board: Board) -> Table:
    days = board.backlog.days
    return Table(
        "backlog",
        _("Backlog over time"),
        [
            Column(_("Day"), is_number=False),
            Column(_("Began to wait")),
            Column(_("Approved or rejected")),
            Column(_("Waiting at its end")),
        ],
        [[day(one.day), count(one.began), count(one.decided), count(one.waiting)] for one in reversed(days)]
        if board.backlog.before or any(one.began for one in days)
        else [],
        note=_("Users who waited for a decision at the end of each day, those who waited for their partner included."),
        empty=_("Nobody waited in this period."),
        chart=_("Line chart of the waiting users at the end of each day. The table below has the figures."),
        is_long=True,
    )


def _decisions(board: Board) -> Table:
    has_two = bool(board.figures.decisions.of_two)
    people = [Column(_("By one person")), Column(_("By two"))] if has_two else []
    return Table(
        "decisions",
        _("Decisions per day"),
        [Column(_("Day"), is_number=False), *_outcome_columns(), *people],
        [
            [
                day(date),
                *_outcomes(one.outcomes, links.decisions_of_day(date)),
                *([count(one.of_one), count(one.of_two)] if has_two else []),
            ]
            for date, one in reversed(board.figures.by_day.items())
        ]
        if board.figures.decisions.total
        else [],
        empty=_("No decisions in this period."),
        chart=_("Bar chart of the decisions per day, by outcome. The table below has the figures."),
        is_long=True,
    )


def _partners(board: Board) -> Table:
    unit = _("hours")
    return Table(
        "partners",
        _("By partner"),
        [
            *_partner_columns(),
            Column(_("Waiting")),
            Column(_("Late")),
            Column(_("For the partner")),
            Column(_("Overdue answers")),
            Column(_("Within the target"), unit="%"),
            Column(_("Within the target in the period before"), unit="%", is_below=True),
            Column(_("Median"), unit=unit),
            Column(_("Median without the partner"), unit=unit, is_below=True),
            Column(_("90th percentile"), unit=unit),
            Column(_("90th percentile without the partner"), unit=unit, is_below=True),
        ],
        [
            [
                *_partner(one),
                count(one.waiting, links.waiting(one.partner)),
                count(one.late, links.late(one.partner), "bad"),
                count(one.asked, links.asked(one.partner)),
                count(one.overdue, links.overdue(one.partner), "warning"),
                *_times(one.decision_times, one.times_before),
            ]
            for one in board.figures.partners
        ],
        note=_(
            "Waiting and overdue: now. Time to decision is from entering to leaving the queue; below it, without the"
            " time that waited for the partner, which does not count against the target. Below the share within the"
            " target: that of the period before."
        ),
        empty=_("No waiting users and no decisions in this period."),
        chart=_(
            "Bar chart of the median and 90th percentile of the time to decision, by partner. The table below has the"
            " figures."
        )
        if board.figures.decision_times
        else "",
    )


def _partner_decisions(board: Board) -> Table:
    return Table(
        "partner-decisions",
        _("Decisions by partner"),
        [*_partner_columns(), *_outcome_columns()],
        [
            [*_partner(one), *_outcomes(one.outcomes, links.decisions(board.period, partner=one.partner))]
            for one in board.figures.partners
            if one.outcomes
        ],
        empty=_("No decisions in this period."),
    )


def _reasons(board: Board) -> Table:
    return Table(
        "rejections-by-reason",
        _("Rejections by reason"),
        [Column(_("Reason"), is_number=False), *_rejection_columns()],
        [
            [
                words(label_of(code) if code else _("Without a reason code")),
                *_rejection_cells(board, now, before, {"reason_code": code or NO_CODE}),
            ]
            for code, now, before in _side_by_side(board.rejections.by_reason, board.rejections_before.by_reason)
        ],
        empty=_("No rejections in this period or the one before."),
    )


def _flags(board: Board) -> Table:
    return Table(
        "rejections-by-flag",
        _("Rejections by risk flag"),
        [Column(_("Risk flag"), is_number=False), *_rejection_columns()],
        [
            [
                words(str(TITLES[code]) if code else _("Without risk flags")),
                *_rejection_cells(board, now, before, {"flag": code or NO_FLAG}),
            ]
            for code, now, before in _side_by_side(board.rejections.by_flag, board.rejections_before.by_flag)
        ],
        note=_("The risk flags that were kept with each rejection. One with several flags counts for each of them."),
        empty=_("No rejections in this period or the one before."),
    )


def _reviewers(board: Board) -> Table:
    rows = []
    for one in board.reviewers:
        if one.is_of_period:
            by = {"by__id__exact": str(one.staff.pk)}
            rows.append(
                [
                    words(one.staff.get_username()),
                    count(one.decisions, links.decisions(board.period, by)),
                    count(one.rejections, links.decisions(board.period, by | links.REJECTED)),
                    count(one.unopened, links.decisions(board.period, by | {"opened": NOT_OPENED}), "warning"),
                    count(one.alone, links.decisions(board.period, by | {"opened": ALONE}), "warning"),
                    count(one.reversals),
                    minutes(one.median_seconds),
                ]
            )
    return Table(
        "reviewers",
        _("By reviewer") if board.sees_all else _("Your decisions"),
        [
            Column(_("Reviewer"), is_number=False),
            Column(_("Decisions")),
            Column(_("Rejections")),
            Column(_("Case not opened")),
            Column(_("Not opened, by one person")),
            Column(_("Reversed")),
            Column(_("Median time on the case"), unit=_("minutes")),
        ],
        rows,
        note=_(
            "Time on the case is from opening it to the decision. A reversal is a reopening, suspension or"
            " reinstatement within 30 days; it counts for the person whose decision it undoes."
        ),
        empty=_("No decisions in this period."),
        names_staff=True,
    )


def _proposers(board: Board) -> Table:
    return Table(
        "proposers",
        _("Decisions of two people"),
        [
            Column(_("Proposed by"), is_number=False),
            Column(_("Proposals approved")),
            Column(_("Proposals declined")),
            Column(_("Declined share"), unit="%"),
            Column(_("Median time to the second person"), unit=_("minutes")),
        ],
        [
            [
                words(one.staff.get_username()),
                count(one.approved),
                count(one.declined),
                percent(one.declined_percent),
                minutes(one.median_seconds),
            ]
            for one in board.proposers
        ],
        note=_("Proposals that a second person answered in this period, by who proposed."),
        names_staff=True,
    )


# Columns and cells that several tables have


def _outcome_columns() -> list[Column]:
    return [*(Column(str(OUTCOME_TITLES[outcome])) for outcome in OUTCOMES), Column(_("Total"))]


def _outcomes(outcomes: Counter[str], url: str) -> list[Cell]:
    """The number of decisions of each outcome, and their total, each with the address of their list."""
    counts = [count(outcomes[outcome], f"{url}&to_status__exact={outcome.value}") for outcome in OUTCOMES]
    return [*counts, count(outcomes.total(), url)]


def _partner_columns() -> list[Column]:
    return [Column(_("Partner"), is_number=False), Column(_("Slug"), is_number=False, is_below=True)]


def _partner(one: PartnerFigures) -> list[Cell]:
    return [words(one.partner.name), words(one.partner.slug, is_quiet=True)]


def _times(times: DecisionTimes | None, before: DecisionTimes | None) -> list[Cell]:
    shares = [percent(times and times.percent_in_time), percent(before and before.percent_in_time, is_quiet=True)]
    if times is None:
        return [*shares, *(hours(None, is_quiet=is_below) for is_below in (False, True) * 2)]
    pairs = zip(times.total, times.own, strict=True)
    return [*shares, *(cell for total, own in pairs for cell in (hours(total), hours(own, is_quiet=True)))]


def _side_by_side(now: Counter[Key], before: Counter[Key]) -> Sequence[tuple[Key, int, int]]:
    """What either period has, the most frequent of this one first."""
    return sorted(((key, now[key], before[key]) for key in now | before), key=lambda row: (-row[1], -row[2]))


def _rejection_columns() -> list[Column]:
    share = _("Share of rejections")
    return [Column(_("Rejections")), Column(share, unit="%"), Column(_("In the period before"))]


def _rejection_cells(board: Board, now: int, before: int, filters: Mapping[str, str]) -> list[Cell]:
    share = round(100 * now / board.rejections.total) if board.rejections.total else None
    url = links.decisions(board.period, {**links.REJECTED, **filters})
    return [count(now, url), percent(share), count(before)]
