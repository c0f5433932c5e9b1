"""The buttons of the queue and of the case page: take the next case, claim, release, mark as reviewed."""

from collections.abc import Callable
from functools import wraps
from typing import Any
from uuid import UUID

from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
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
_View = Callable[..., HttpResponse]


def _button(permission: str) -> Callable[[_View], _View]:
    """A view of a POST by staff who hold this permission; a GET, such as after a login, leads to the queue."""

    def decorate(view: _View) -> _View:
        @wraps(view)
        def guarded(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
            if request.method != "POST":
                return redirect(QUEUE)
            if not isinstance(request.user, Staff) or not request.user.has_perms((SEEN_BY, permission)):
                raise PermissionDenied
            return view(request, request.user, *args, **kwargs)

        return guarded

    return decorate


@_button(claims.PERMISSION)
def next_case(request: HttpRequest, staff: Staff) -> HttpResponse:
    """Open the case that the person holds, or else claim the one that has waited longest."""
    if (held := claims.case_in_hand(staff)) is not None:
        messages.info(request, _("You hold this case: decide it or release it, then the next one follows."))
        return redirect("backoffice_case", held.pk)
    user = claims.next_case(staff=staff, request_id=_request_id(request))
    if user is None:
        messages.info(request, _("No case is free: each one that waits is claimed."))
        return redirect(QUEUE)
    return redirect("backoffice_case", user.pk)


@_button(claims.PERMISSION)
def claim(request: HttpRequest, staff: Staff, user_id: UUID) -> HttpResponse:
    """Claim a case and open it."""
    user = get_object_or_404(User, pk=user_id)
    try:
        claims.claim(user=user, staff=staff, request_id=_request_id(request))
    except claims.ClaimRefusedError as refusal:
        messages.error(request, str(refusal))
        return _back(request)
    return redirect("backoffice_case", user.pk)


@_button(claims.PERMISSION)
def release(request: HttpRequest, staff: Staff, user_id: UUID) -> HttpResponse:
    """Release a case."""
    try:
        claims.release(user=get_object_or_404(User, pk=user_id), staff=staff, request_id=_request_id(request))
    except claims.ClaimRefusedError as refusal:
        messages.error(request, str(refusal))
    else:
        messages.success(request, _("The case is free again."))
    return _back(request)


@_button(compliance.PERMISSION)
def reviewed(request: HttpRequest, staff: Staff, user_id: UUID) -> HttpResponse:
    """Record that a changed name or birth date was reviewed."""
    user = get_object_or_404(User, pk=user_id)
    shown = Version.parse(request.POST.get("version", ""))
    try:
        reviews.mark_reviewed(user_id=user.pk, shown=shown, by=staff, request_id=_request_id(request))
    except reviews.ReviewRefusedError as refusal:
        messages.error(request, str(refusal))
    else:
        messages.success(request, _("%(user)s is marked as reviewed.") % {"user": user.external_id})
    return _back(request, CHANGED)


def _back(request: HttpRequest, default: str = QUEUE) -> HttpResponse:
    """A redirect to the list that the button was on, filtered as it was."""
    path = request.POST.get("back", "")
    return redirect(
        path if path.startswith("/") and url_has_allowed_host_and_scheme(path, allowed_hosts=None) else default
    )


def _request_id(request: HttpRequest) -> str:
    return str(getattr(request, "request_id", ""))


def _path(route: str, view: _View, name: str) -> URLPattern:
    return path(route, admin.site.admin_view(view), name=f"backoffice_{name}")


urlpatterns = [
    _path("cases/next/", next_case, "next"),
    _path("cases/<uuid:user_id>/claim/", claim, "claim"),
    _path("cases/<uuid:user_id>/release/", release, "release"),
    _path("cases/<uuid:user_id>/reviewed/", reviewed, "reviewed"),
]
