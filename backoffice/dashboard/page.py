"""The page on which each role begins, and the dashboard: users who need a decision, decisions, and their times."""

from collections.abc import Callable
from functools import wraps

from django.conf import settings
from django.contrib import admin, messages
from django.contrib.auth.decorators import permission_required
from django.db import OperationalError
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.http import urlencode
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe
from psycopg.errors import QueryCanceled

from backoffice.access import record_access, staff_of
from backoffice.dashboard import board as boards
from backoffice.dashboard import headlines
from backoffice.dashboard.charts import charts
from backoffice.dashboard.period import CHOICES, Period, requested
from backoffice.dashboard.tables import tables
from backoffice.exports.spreadsheets import CONTENT_TYPE
from backoffice.list_urls import QUEUE
from users.decisions import compliance
from users.models import AccessKind

PERMISSION = "users.view_dashboard"

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


def _in_time(view: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
    """After a statement that took too long, the page of the default period and a message."""

    @wraps(view)
    def guarded(request: HttpRequest, **kwargs: str) -> HttpResponse:
        try:
            return view(request, **kwargs)
        except OperationalError as error:
            if not request.GET or not isinstance(error.__cause__, QueryCanceled):
                raise
            messages.error(request, _("The figures of this period took too long. Choose a shorter one."))
            return redirect("backoffice_dashboard")

    return guarded


@require_safe
@permission_required(PERMISSION, raise_exception=True)
@_in_time
def dashboard(request: HttpRequest) -> HttpResponse:
    """Show the figures of the last `?days=`, 30 by default, or of `?since=&until=`, beside those of as many before."""
    period, form = requested(request.GET)
    board = boards.gather(staff_of(request), period)
    context = {
        "title": _("Dashboard"),
        "choices": [(days, period == Period.of_last(days)) for days in CHOICES],
        "last_month": Period.of_last_month(),
        "period": period,
        "form": form,
        "zone": settings.COMPLIANCE_TIME_ZONE,
        "now": timezone.now(),
        "target": settings.COMPLIANCE_TARGET_HOURS,
        "headlines_now": headlines.of_now(board),
        "headlines": headlines.of_period(board),
        "tables": tables(board),
        "csv_query": urlencode(period.query),
        "charts": charts(board),
    }
    return render(request, "backoffice/dashboard/page.html", admin.site.each_context(request) | context)


@require_safe
@permission_required(PERMISSION, raise_exception=True)
@_in_time
def table_csv(request: HttpRequest, name: str) -> HttpResponse:
    """Send a table of the dashboard as CSV; one that names staff is in the access log before.

    They are counts, and nobody's data: unlike other exports, it asks for no fresh second factor. A bad period leads to
    the page, which says what is wrong.
    """
    period, form = requested(request.GET)
    if form.errors:
        return redirect(f"{reverse('backoffice_dashboard')}?{request.GET.urlencode()}")
    board = boards.gather(staff_of(request), period)
    table = next((one for one in tables(board) if one.name == name), None)
    if table is None:
        raise Http404
    if table.names_staff:
        detail = f"CSV of the dashboard: {name}, {period.first} to {period.last}"
        record_access(request, AccessKind.EXPORTED, detail=detail)
    headers = {"Content-Disposition": f'attachment; filename="{name}-{period.first}-{period.last}.csv"'}
    return HttpResponse("".join(table.csv_lines()), content_type=CONTENT_TYPE, headers=headers)
