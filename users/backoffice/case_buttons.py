"""The buttons of the queue and of the case page: take the next case, claim, release, mark as reviewed."""

from collections.abc import Callable
from typing import Any
from uuid import UUID

from django.contrib import admin, messages
from django.contrib.auth.decorators import permission_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.urls import URLPattern, path
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import gettext as _

from users.models import Staff, User
from users.services import claims, compliance, reviews
from users.services.changes import Version

SEEN_BY = "users.view_user"
QUEUE = "admin:users_queueduser_changelist"
CHANGED = "admin:users_changeduser_changelist"


def next_case(request: HttpRequest) -> HttpResponse:
    """Open the case that the person holds, or else claim the one that has waited longest."""
    staff = _staff(request)
    if (held := claims.case_in_hand(staff)) is not None:
        messages.info(request, _("You hold this case: decide it or release it, then the next one follows."))
        return redirect("backoffice_case", held.pk)
    user = claims.next_case(staff=staff, request_id=_request_id(request))
    if user is None:
        messages.info(request, _("No case is free: each one that waits is claimed."))
        return redirect(QUEUE)
    return redirect("backoffice_case", user.pk)


def claim(request: HttpRequest, user_id: UUID) -> HttpResponse:
    """Claim a case and open it."""
    user = get_object_or_404(User, pk=user_id)
    try:
        claims.claim(user=user, staff=_staff(request), request_id=_request_id(request))
    except claims.ClaimRefusedError as refusal:
        messages.error(request, str(refusal))
        return _back(request, QUEUE)
    return redirect("backoffice_case", user.pk)


def release(request: HttpRequest, user_id: UUID) -> HttpResponse:
    """Release a case."""
    user = get_object_or_404(User, pk=user_id)
    try:
        claims.release(user=user, staff=_staff(request), request_id=_request_id(request))
    except claims.ClaimRefusedError as refusal:
        messages.error(request, str(refusal))
    else:
        messages.success(request, _("The case is free again."))
    return _back(request, QUEUE)


def reviewed(request: HttpRequest, user_id: UUID) -> HttpResponse:
    """Record that a changed name or birth date was reviewed."""
    user = get_object_or_404(User, pk=user_id)
    shown = Version.parse(request.POST.get("version", ""))
    try:
        reviews.mark_reviewed(user_id=user.pk, shown=shown, by=_staff(request), request_id=_request_id(request))
    except reviews.ReviewRefusedError as refusal:
        messages.error(request, str(refusal))
    else:
        messages.success(request, _("%(user)s is marked as reviewed.") % {"user": user.external_id})
    return _back(request, CHANGED)


def _back(request: HttpRequest, default: str) -> HttpResponse:
    """A redirect to the list that the button was on, filtered as it was."""
    url = request.POST.get("back", "")
    is_ours = url.startswith("/") and url_has_allowed_host_and_scheme(url, allowed_hosts=None)
    return redirect(url if is_ours else default)


def _request_id(request: HttpRequest) -> str:
    return str(getattr(request, "request_id", ""))


def _staff(request: HttpRequest) -> Staff:
    assert isinstance(request.user, Staff)  # noqa: S101 - nobody else has the permissions
    return request.user


def _path(route: str, view: Callable[..., HttpResponse], permission: str) -> URLPattern:
    """A path of a POST; a GET, such as after a login, leads to the queue."""

    @permission_required((SEEN_BY, permission), raise_exception=True)
    def post_only(request: HttpRequest, **kwargs: Any) -> HttpResponse:
        return view(request, **kwargs) if request.method == "POST" else redirect(QUEUE)

    return path(f"cases/{route}/", admin.site.admin_view(post_only), name=f"backoffice_{route.rpartition('/')[2]}")


urlpatterns = [
    _path("next", next_case, claims.PERMISSION),
    _path("<uuid:user_id>/claim", claim, claims.PERMISSION),
    _path("<uuid:user_id>/release", release, claims.PERMISSION),
    _path("<uuid:user_id>/reviewed", reviewed, compliance.PERMISSION),
]
