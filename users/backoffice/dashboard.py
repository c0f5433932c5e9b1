"""The page on which each role begins, and the dashboard: users who need a decision, decisions, and their times."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from django.contrib import admin
from django.contrib.auth.decorators import permission_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.formats import date_format
from django.utils.text import Truncator
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_safe

from users.backoffice.dashboard_figures import OUTCOMES, Bucket, Figures, Percentiles, gather
from users.backoffice.lists import QUEUE
from users.backoffice.waiting_time import format_duration
from users.models import Status
from users.services import compliance

PERMISSION = "users.view_dashboard"
PERIODS = (7, 30, 90)
# More bars are hard to read. Partners are sorted by the number of users who need a decision.
PARTNERS_IN_CHART = 12
# Longer names of partners would leave little height for the bars.
LABEL_LENGTH = 24

_OUTCOMES: Mapping[Status, Any] = {
    Status.ACTIVE: gettext_lazy("Activated"),
    Status.REJECTED: gettext_lazy("Rejected"),
    Status.SUSPENDED: gettext_lazy("Suspended"),
    Status.CLOSED: gettext_lazy("Closed"),
    Status.PENDING_COMPLIANCE: gettext_lazy("Reopened"),
}

# The first one permitted: reviewers decide, auditors supervise, viewers look users up.
_PAGES = (
    (compliance.PERMISSION, QUEUE),
    (PERMISSION, "backoffice_dashboard"),
    ("users.view_user", QUEUE),
    ("partners.view_partner", "admin:partners_partner_changelist"),
    ("users.view_staff", "admin:users_staff_changelist"),
)


@require_safe
def landing(request: HttpRequest) -> HttpResponse:
    """Redirect to the first page that the person may see; without a role, say so."""
    for permission, url_name in _PAGES:
        if request.user.has_perm(permission):
            return redirect(url_name)
    return render(request, "backoffice/no_role.html", admin.site.each_context(request) | {"title": _("No role")})


@require_safe
@permission_required(PERMISSION, raise_exception=True)
def dashboard(request: HttpRequest) -> HttpResponse:
    """Show the figures of the last `?days=`: 7, 30 (the default) or 90."""
    period = request.GET.get("days", "")
    figures = gather(int(period) if period in map(str, PERIODS) else PERIODS[1])
    median, ninetieth = _durations(figures.decision_times)
    context = {
        "title": _("Dashboard"),
        "periods": PERIODS,
        "figures": figures,
        "median": median,
        "ninetieth": ninetieth,
        "buckets": [(_bucket_label(bucket), bucket) for bucket in figures.buckets],
        "outcomes": [_OUTCOMES[outcome] for outcome in OUTCOMES],
        "days": [(day, _row(outcomes)) for day, outcomes in reversed(figures.by_day.items())],
        "partners": [(one, *_durations(one.decision_times), _row(one.outcomes)) for one in figures.partners],
        "charts": _charts(figures),
    }
    return render(request, "backoffice/dashboard.html", admin.site.each_context(request) | context)


def _durations(times: Percentiles | None) -> tuple[str, ...]:
    return ("–", "–") if times is None else tuple(format_duration(timedelta(seconds=seconds)) for seconds in times)


def _bucket_label(bucket: Bucket) -> str:
    begins, ends = f"{bucket.begins:g}", f"{bucket.ends or 0:g}"
    if bucket.ends is None:
        return _("%(begins)s h and more") % {"begins": begins}
    if not bucket.begins:
        return _("under %(ends)s h") % {"ends": ends}
    return _("%(begins)s to %(ends)s h") % {"begins": begins, "ends": ends}


def _row(outcomes: Mapping[str, int]) -> list[int]:
    """Return the number of decisions of each outcome, and their total."""
    counts = [outcomes.get(outcome, 0) for outcome in OUTCOMES]
    return [*counts, sum(counts)]


def _charts(figures: Figures) -> dict[str, Any]:
    """Return the data for dashboard.js; the tables have the same figures."""
    timed = [(one.partner.name, one.decision_times) for one in figures.partners if one.decision_times]
    charted = timed[:PARTNERS_IN_CHART]
    return {
        "waiting": {
            "labels": [_bucket_label(bucket) for bucket in figures.buckets],
            "values": [bucket.count for bucket in figures.buckets],
            "late": [bucket.is_late for bucket in figures.buckets],
            "title": _("Users"),
        },
        "decisions": {
            "labels": [date_format(day, "MONTH_DAY_FORMAT") for day in figures.by_day],
            "series": [
                {
                    "name": outcome.value,
                    "title": str(_OUTCOMES[outcome]),
                    "values": [outcomes[outcome] for outcomes in figures.by_day.values()],
                }
                for outcome in OUTCOMES
            ],
        },
        "partners": {
            "labels": [Truncator(name).chars(LABEL_LENGTH) for name, _times in charted],
            "median": {"title": _("Median"), "values": [round(times.median / 3600, 1) for _name, times in charted]},
            "ninetieth": {
                "title": _("90th percentile"),
                "values": [round(times.ninetieth / 3600, 1) for _name, times in charted],
            },
            "target": {"title": _("Target"), "value": figures.target_hours},
            "unit": _("hours"),
        },
    }
