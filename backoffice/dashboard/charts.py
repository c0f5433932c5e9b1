"""The data of dashboard.js; the tables have the same figures."""

from typing import Any

from django.utils.formats import date_format
from django.utils.text import Truncator
from django.utils.translation import gettext as _

from backoffice.dashboard import links
from backoffice.dashboard.board import Board
from backoffice.dashboard.figures import OUTCOMES
from backoffice.dashboard.tables import OUTCOME_TITLES
from backoffice.lists.waiting_time import hours_label

# More bars are hard to read. Partners are sorted by the number of users who need a decision.
PARTNERS_IN_CHART = 12
# Longer names of partners would leave little height for the bars.
LABEL_LENGTH = 24


def charts(board: Board) -> dict[str, Any]:
    """Return the charts by the names of their tables. urls: of the list that each bar counts."""
    figures, period = board.figures, board.period
    timed = [(one.partner, one.decision_times.total) for one in figures.partners if one.decision_times]
    charted = timed[:PARTNERS_IN_CHART]
    days = [date_format(day, "MONTH_DAY_FORMAT") for day in figures.by_day]
    return {
        "waiting": {
            "labels": [hours_label(bucket.begins, bucket.ends) for bucket in figures.buckets],
            "urls": [links.waiting_for(bucket) for bucket in figures.buckets],
            "values": [bucket.count for bucket in figures.buckets],
            "late": [bucket.is_late for bucket in figures.buckets],
            "title": _("Users"),
        },
        "backlog": {
            "labels": days,
            "values": [one.waiting for one in board.backlog.days],
            "title": _("Waiting at its end"),
        },
        "decisions": {
            "labels": days,
            "urls": [links.decisions_of_day(day) for day in figures.by_day],
            "series": [
                {
                    "name": outcome.value,
                    "title": str(OUTCOME_TITLES[outcome]),
                    "values": [one.outcomes[outcome] for one in figures.by_day.values()],
                }
                for outcome in OUTCOMES
            ],
        },
        "partners": {
            "labels": [Truncator(partner.name).chars(LABEL_LENGTH) for partner, _times in charted],
            "urls": [links.decisions(period, partner=partner) for partner, _times in charted],
            "median": {"title": _("Median"), "values": [round(times.median / 3600, 1) for _partner, times in charted]},
            "ninetieth": {
                "title": _("90th percentile"),
                "values": [round(times.ninetieth / 3600, 1) for _partner, times in charted],
            },
            "target": {
                "title": _("Target: %(hours)s h") % {"hours": figures.target_hours},
                "value": figures.target_hours,
            },
            "unit": _("hours"),
        },
    }
