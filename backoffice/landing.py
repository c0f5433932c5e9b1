"""The page on which staff begin: figures of real users, each a bounded range of an index, with links to the lists."""

from collections.abc import Callable, Iterator, Mapping
from datetime import datetime, time, timedelta
from typing import Any

from django.conf import settings
from django.contrib import admin
from django.contrib.humanize.templatetags.humanize import intcomma
from django.db.models import Count, F, Q
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import pgettext_lazy
from django.views.decorators.http import require_safe

from backoffice.case.file import PERMISSION as FILE
from backoffice.lists.bounded_lists import bounded_count, count_text
from backoffice.lists.cells import labelled
from backoffice.lists.pages import ASKED as ASKED_LIST
from backoffice.lists.pages import DECISIONS, QUEUE
from backoffice.lists.waiting_time import AgeState, limits
from backoffice.users.filters import OVERDUE, TO_DECIDE
from backoffice.users.open_items import LISTED, needing
from users import claims, retention
from users.decisions import proposals
from users.models import ASKED, FileEntry, Status, StatusChange, User
from users.models.case import live
from users.profile.field_rules import today

DAYS = 30
# An index alone counts so many within some 10 ms.
MAX_USERS = 100_000
OUTCOMES: Mapping[Status, Any] = {
    Status.ACTIVE: pgettext_lazy("users", "Activated"),
    Status.REJECTED: pgettext_lazy("users", "Rejected"),
    Status.SUSPENDED: pgettext_lazy("users", "Suspended"),
    Status.CLOSED: pgettext_lazy("users", "Closed"),
    Status.PENDING_COMPLIANCE: pgettext_lazy("users", "Reopened"),
}


@require_safe
def landing(request: HttpRequest) -> HttpResponse:
    """Show the figures; who sees no users is redirected to what they manage, or told that they have no role."""
    may = request.user.has_perm
    if not may("users.view_user"):
        for model in ("partners_partner", "staff_staff"):
            if may(model.replace("_", ".view_")):
                return redirect(f"admin:{model}_changelist")
        return render(request, "backoffice/no_role.html", admin.site.each_context(request) | {"title": _("No role")})
    context = {
        "title": _("Overview"),
        "now": timezone.now(),
        "target": settings.COMPLIANCE_TARGET_HOURS,
        "figures": list(_figures(may)),
        "periods": list(_decisions()) if may("users.view_statuschange") else [],
        "may_claim": may(claims.PERMISSION),
    }
    return render(request, "backoffice/landing.html", admin.site.each_context(request) | context)


def _figures(may: Callable[[str], bool]) -> Iterator[dict[str, Any]]:
    """The figures of now of the lists that the reader may see."""
    now = timezone.now()
    is_late, is_overdue = Q(waiting_since__lte=limits(now)[1]), Q(requirements_due_at__lt=now)
    for title, condition, url_name, query in (
        (_("Waiting for compliance"), TO_DECIDE, QUEUE, {}),
        (_("Late"), TO_DECIDE & is_late, QUEUE, {"waiting": AgeState.LATE.value}),
        (_("Waiting for the partner"), ASKED, ASKED_LIST, {}),
        (_("Overdue answers"), ASKED & is_overdue, ASKED_LIST, {"due": OVERDUE}),
    ):
        count = bounded_count(live(User.objects.filter(condition)), MAX_USERS)
        text, url = count_text(count, MAX_USERS), reverse(url_name, query=query)
        # Those that are late or overdue ask for action.
        yield {"title": title, "text": text, "url": url, "is_bad": bool(query) and count > 0}
    if may("users.view_proposal"):
        text, url = count_text(bounded_count(proposals.waiting())), reverse("admin:users_proposal_changelist")
        yield {"title": _("For a second person"), "text": text, "url": url}
    if may(FILE):
        for code, kind in LISTED.items():
            rows = live(FileEntry.objects.filter(needing(kind)))
            is_bad = kind.due and rows.filter(due_on__lt=today()).exists()
            text, url = count_text(bounded_count(rows)), reverse(f"admin:users_fileentry_{code}")
            yield {"title": kind.list_title, "text": text, "url": url, "is_bad": is_bad}
    if may("users.keep_records"):
        text, url = count_text(bounded_count(retention.due_users())), reverse("backoffice_records")
        yield {"title": _("Due for erasure"), "text": text, "url": url}


def _decisions() -> Iterator[dict[str, Any]]:
    """The decisions of each period by outcome, and of those on waiting users the share in time, rounded down."""
    periods = {_("Today"): 1, _("Last %(days)s days") % {"days": DAYS}: DAYS}
    waited = Q(from_status=Status.PENDING_COMPLIANCE, waiting_since__isnull=False)
    in_time = waited & Q(waiting_since__gte=F("created_at") - timedelta(hours=settings.COMPLIANCE_TARGET_HOURS))
    for title, days in periods.items():
        first = timezone.localdate() - timedelta(days=days - 1)
        midnight = datetime.combine(first, time(), timezone.get_current_timezone())
        counts = live(StatusChange.objects.filter(created_at__gte=midnight)).aggregate(
            total=Count("created_at"),
            waited=Count("created_at", filter=waited),
            in_time=Count("created_at", filter=in_time),
            **{outcome.value: Count("created_at", filter=Q(to_status=outcome)) for outcome in OUTCOMES},
        )
        url = reverse(DECISIONS, query={"since": first})
        outcomes = [
            (labelled(label, intcomma(counts[outcome])), f"{url}&to_status__exact={outcome}")
            for outcome, label in OUTCOMES.items()
        ]
        percent = {"number": 100 * counts["in_time"] // (counts["waited"] or 1)}
        share = _("%(number)s%%") % percent if counts["waited"] else "–"
        yield {"title": title, "total": counts["total"], "url": url, "outcomes": outcomes, "share": share}
