"""The dashboard: who waits and for how long, what was decided, and how long that took."""

from collections.abc import Mapping, Sequence
from datetime import date, timedelta
from typing import Any

from django.contrib import admin
from django.contrib.auth.decorators import permission_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import path
from django.utils.formats import date_format, number_format
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_safe

from users.backoffice.dashboard_figures import OUTCOMES, Bucket, Figures, PartnerFigures, gather
from users.backoffice.waiting_time import in_words
from users.models import Status

PERMISSION = "users.view_dashboard"
PERIODS = (7, 30, 90)
# Those with the most to do: more bars than these nobody reads.
PARTNERS_DRAWN = 12

# A decision is called by what it did.
_OUTCOME_WORDS: Mapping[Status, Any] = {
    Status.ACTIVE: gettext_lazy("Activated"),
    Status.REJECTED: gettext_lazy("Rejected"),
    Status.SUSPENDED: gettext_lazy("Suspended"),
    Status.CLOSED: gettext_lazy("Closed"),
    Status.PENDING_COMPLIANCE: gettext_lazy("Reopened"),
}


@require_safe
@permission_required(PERMISSION, raise_exception=True)
def dashboard(request: HttpRequest) -> HttpResponse:
    """The figures of `?days=`: 7, 30 or 90; of anything else, 30."""
    asked = request.GET.get("days", "")
    days = int(asked) if asked in map(str, PERIODS) else PERIODS[1]
    figures = gather(days)
    return render(request, "backoffice/dashboard.html", admin.site.each_context(request) | _context(figures))


def _context(figures: Figures) -> dict[str, Any]:
    return {
        "title": _("Dashboard"),
        "periods": PERIODS,
        "figures": figures,
        "headline": list(_headline(figures)),
        "buckets": [(_bucket(bucket), _number(bucket.count), bucket.is_late) for bucket in figures.buckets],
        "outcomes": [_OUTCOME_WORDS[outcome] for outcome in OUTCOMES],
        # The newest first: in a table one looks for the last days.
        "days": [(day, _row(outcomes)) for day, outcomes in reversed(list(figures.by_day.items()))],
        "partners": [_partner(one) for one in figures.partners],
        "charts": _charts(figures),
    }


def _headline(figures: Figures) -> Any:
    median, ninetieth = _waited(figures.waited)
    yield _("Waiting now"), _number(figures.waiting), ""
    yield _("Waiting too long"), _number(figures.late), "late" if figures.late else ""
    yield _("Decisions"), _number(figures.decisions), ""
    yield _("Median to decision"), median, ""
    yield _("90th percentile"), ninetieth, ""


def _waited(waited: Sequence[int] | None) -> tuple[str, str]:
    """The median and the 90th percentile in words."""
    if waited is None:
        return "–", "–"
    median, ninetieth = (in_words(timedelta(seconds=seconds)) for seconds in waited)
    return median, ninetieth


def _bucket(bucket: Bucket) -> str:
    begins, ends = (f"{hours:g}" for hours in (bucket.begins, bucket.ends or 0))
    if bucket.ends is None:
        return _("%(begins)s h and more") % {"begins": begins}
    if not bucket.begins:
        return _("under %(ends)s h") % {"ends": ends}
    return _("%(begins)s to %(ends)s h") % {"begins": begins, "ends": ends}


def _row(outcomes: Mapping[str, int]) -> list[str]:
    """A row of numbers: each outcome, and all together."""
    counts = [outcomes.get(outcome, 0) for outcome in OUTCOMES]
    return [_number(count) for count in (*counts, sum(counts))]


def _number(number: int) -> str:
    return str(number_format(number, force_grouping=True))


def _partner(figures: PartnerFigures) -> dict[str, Any]:
    median, ninetieth = _waited(figures.waited)
    return {
        "partner": figures.partner,
        "waiting": _number(figures.waiting),
        "late": _number(figures.late) if figures.late else "",
        "median": median,
        "ninetieth": ninetieth,
        "numbers": _row(figures.outcomes),
    }


def _charts(figures: Figures) -> dict[str, Any]:
    """What dashboard.js draws; the tables hold the same, and all partners."""
    waited = {one.partner.slug: one.waited for one in figures.partners if one.waited}
    drawn = dict(list(waited.items())[:PARTNERS_DRAWN])
    return {
        "waiting": {
            "labels": [_bucket(bucket) for bucket in figures.buckets],
            "values": [bucket.count for bucket in figures.buckets],
            "late": [bucket.is_late for bucket in figures.buckets],
            "title": _("Users"),
        },
        "decisions": {
            "labels": [_short(day) for day in figures.by_day],
            "series": [
                {
                    "name": outcome.value,
                    "title": str(_OUTCOME_WORDS[outcome]),
                    "values": [outcomes.get(outcome, 0) for outcomes in figures.by_day.values()],
                }
                for outcome in OUTCOMES
            ],
        },
        "partners": {
            "labels": list(drawn),
            "median": {"title": _("Median"), "values": [_hours(one.median) for one in drawn.values()]},
            "ninetieth": {"title": _("90th percentile"), "values": [_hours(one.ninetieth) for one in drawn.values()]},
            "target": {"title": _("Target"), "value": figures.target_hours},
            "unit": _("hours"),
        },
    }


def _hours(seconds: int) -> float:
    return round(seconds / 3600, 1)


def _short(day: date) -> str:
    return date_format(day, "MONTH_DAY_FORMAT")


urlpatterns = [
    path("dashboard/", admin.site.admin_view(dashboard), name="backoffice_dashboard"),
]
