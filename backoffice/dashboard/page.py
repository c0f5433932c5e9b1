"""The page on which each role begins, and the dashboard: users who need a decision, decisions, and their times."""

from collections.abc import Mapping
from datetime import date, timedelta
from typing import Any

from django.contrib import admin
from django.contrib.auth.decorators import permission_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.formats import date_format
from django.utils.text import Truncator
from django.utils.translation import gettext as _
from django.utils.translation import pgettext_lazy
from django.views.decorators.http import require_safe

from backoffice.access import staff_of
from backoffice.dashboard import proposal_figures, reviewer_figures
from backoffice.dashboard.figures import OUTCOMES, Bucket, DecisionTimes, Figures, PartnerFigures, gather
from backoffice.dashboard.proposal_figures import ProposerFigures
from backoffice.dashboard.reviewer_figures import ReviewerFigures
from backoffice.list_urls import ASKED, DECISIONS, QUEUE
from backoffice.lists.waiting_time import AgeState, format_duration, format_open_time, hours_label
from partners.models import Partner
from users.decisions import compliance
from users.models import Staff, Status

PERMISSION = "users.view_dashboard"
# Who reads the access log sees the figures of all who decide, others their own.
OVERSIGHT_PERMISSION = "users.view_accessrecord"
PERIODS = (7, 30, 90)
# More bars are hard to read. Partners are sorted by the number of users who need a decision.
PARTNERS_IN_CHART = 12
# Longer names of partners would leave little height for the bars.
LABEL_LENGTH = 24

_OUTCOMES: Mapping[Status, Any] = {
    Status.ACTIVE: pgettext_lazy("users", "Activated"),
    Status.REJECTED: pgettext_lazy("users", "Rejected"),
    Status.SUSPENDED: pgettext_lazy("users", "Suspended"),
    Status.CLOSED: pgettext_lazy("users", "Closed"),
    Status.PENDING_COMPLIANCE: pgettext_lazy("users", "Reopened"),
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
    median, ninetieth = _times(figures.decision_times)
    context = {
        "title": _("Dashboard"),
        "periods": PERIODS,
        "figures": figures,
        "median": median,
        "ninetieth": ninetieth,
        "buckets": [(hours_label(one.begins, one.ends), one, _bucket_url(one)) for one in figures.buckets],
        "waiting_url": reverse(QUEUE),
        "asked_url": reverse(ASKED, query={"status__exact": Status.PENDING_COMPLIANCE.value}),
        "of_two": figures.of_two.total(),
        "of_one": figures.decisions - figures.of_two.total(),
        "late_url": reverse(QUEUE, query={"waiting": AgeState.LATE.value}),
        "decisions_url": _decisions_url(figures),
        "outcomes": [_OUTCOMES[outcome] for outcome in OUTCOMES],
        "days": [
            (day, _row(outcomes, _decisions_url(figures, day=day)), *_people(outcomes.total(), figures.of_two[day]))
            for day, outcomes in reversed(figures.by_day.items())
        ],
        "partners": [_partner_row(figures, one) for one in figures.partners],
        "reviewers": _reviewers(staff_of(request), figures),
        "proposers": _proposers(staff_of(request), figures),
        "sees_all_reviewers": request.user.has_perm(OVERSIGHT_PERMISSION),
        "charts": _charts(figures),
    }
    return render(request, "backoffice/dashboard.html", admin.site.each_context(request) | context)


def _times(times: DecisionTimes | None) -> tuple[tuple[str, str], ...]:
    """The median and the 90th percentile, each in all and without the time that waited for the partner."""
    if times is None:
        return (("–", "–"), ("–", "–"))
    return tuple(
        (format_duration(timedelta(seconds=total)), format_duration(timedelta(seconds=own)))
        for total, own in zip(*times, strict=True)
    )


def _people(decisions: int, of_two: int) -> tuple[int, int]:
    """How many of the decisions one person made, and how many two."""
    return decisions - of_two, of_two


def _row(outcomes: Mapping[str, int], url: str) -> list[tuple[int, str]]:
    """Return the number of decisions of each outcome, and their total, each with the address of their list."""
    counts = [(outcomes.get(outcome, 0), f"{url}&to_status__exact={outcome.value}") for outcome in OUTCOMES]
    return [*counts, (sum(count for count, _url in counts), url)]


def _reviewers(reader: Staff, figures: Figures) -> list[tuple[ReviewerFigures, str]]:
    """Return the figures of each person that the reader may see, with the median time on a case."""
    only = None if reader.has_perm(OVERSIGHT_PERMISSION) else reader
    found = reviewer_figures.gather(figures.begins, only=only)
    return [(one, "–" if one.median_seconds is None else format_open_time(one.median_seconds)) for one in found]


def _proposers(reader: Staff, figures: Figures) -> list[tuple[ProposerFigures, str]]:
    """Return the figures of each person's proposals that the reader may see, with the median time to an answer."""
    only = None if reader.has_perm(OVERSIGHT_PERMISSION) else reader
    found = proposal_figures.gather(figures.begins, only=only)
    return [(one, format_open_time(one.median_seconds)) for one in found]


def _partner_row(figures: Figures, one: PartnerFigures) -> dict[str, Any]:
    query = {"partner__id__exact": one.partner.pk}
    median, ninetieth = _times(one.decision_times)
    return {
        "figures": one,
        "waiting_url": reverse(QUEUE, query=query),
        "late_url": reverse(QUEUE, query={"waiting": AgeState.LATE.value, **query}),
        "asked_url": reverse(ASKED, query={"status__exact": Status.PENDING_COMPLIANCE.value, **query}),
        "median": median,
        "ninetieth": ninetieth,
        "numbers": _row(one.outcomes, _decisions_url(figures, partner=one.partner)),
    }


def _bucket_url(bucket: Bucket) -> str:
    ends = "" if bucket.ends is None else f"{bucket.ends:g}"
    return reverse(QUEUE, query={"waiting": f"{bucket.begins:g}-{ends}"})


def _decisions_url(figures: Figures, *, day: date | None = None, partner: Partner | None = None) -> str:
    """The list of the decisions of a day, or of the period."""
    days = [*figures.by_day]
    query = {"since": str(day or days[0]), "until": str(day or days[-1])}
    return reverse(DECISIONS, query=query | ({"partner__id__exact": str(partner.pk)} if partner else {}))


def _charts(figures: Figures) -> dict[str, Any]:
    """Return the data for dashboard.js; the tables have the same figures."""
    timed = [(one.partner, one.decision_times.total) for one in figures.partners if one.decision_times]
    charted = timed[:PARTNERS_IN_CHART]
    return {
        "waiting": {
            "labels": [hours_label(bucket.begins, bucket.ends) for bucket in figures.buckets],
            "urls": [_bucket_url(bucket) for bucket in figures.buckets],
            "values": [bucket.count for bucket in figures.buckets],
            "late": [bucket.is_late for bucket in figures.buckets],
            "title": _("Users"),
        },
        "decisions": {
            "labels": [date_format(day, "MONTH_DAY_FORMAT") for day in figures.by_day],
            "urls": [_decisions_url(figures, day=day) for day in figures.by_day],
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
            "labels": [Truncator(partner.name).chars(LABEL_LENGTH) for partner, _times in charted],
            "urls": [_decisions_url(figures, partner=partner) for partner, _times in charted],
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
