"""The page on which each role begins."""

from django.contrib import admin
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from users.backoffice import dashboard
from users.backoffice.case_buttons import QUEUE
from users.services import compliance

# The first one permitted: reviewers decide, auditors supervise, viewers look users up.
_PAGES = (
    (compliance.PERMISSION, QUEUE),
    (dashboard.PERMISSION, "backoffice_dashboard"),
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
