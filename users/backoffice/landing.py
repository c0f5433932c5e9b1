"""Where staff begin: each role on the page that its work is on, instead of Django's index."""

from django.contrib import admin
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import path
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from users.backoffice import dashboard
from users.backoffice.case_buttons import QUEUE, SEEN_BY
from users.services import compliance

# The first that the person may see: reviewers decide, auditors look over it, viewers look people up.
PAGES: tuple[tuple[str, str], ...] = (
    (compliance.PERMISSION, QUEUE),
    (dashboard.PERMISSION, "backoffice_dashboard"),
    (SEEN_BY, QUEUE),
    ("partners.view_partner", "admin:partners_partner_changelist"),
    ("users.view_staff", "admin:users_staff_changelist"),
)


@require_safe
def landing(request: HttpRequest) -> HttpResponse:
    """Leads to the person's page; who has no role is told so."""
    for permission, page in PAGES:
        if request.user.has_perm(permission):
            return redirect(page)
    return render(request, "backoffice/no_role.html", admin.site.each_context(request) | {"title": _("No role yet")})


urlpatterns = [path("", admin.site.admin_view(landing), name="backoffice_landing")]
