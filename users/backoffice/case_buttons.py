"""The buttons of the queue and of the case page: take the next case, claim, release, mark as reviewed."""

from collections.abc import Callable
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import gettext as _

from users.backoffice.access import request_id_of, staff_of
from users.models import User
from users.services import claims, compliance, decisions
from users.services.changes import Version

QUEUE = "admin:users_queueduser_changelist"
CHANGED = "admin:users_changeduser_changelist"
_View = Callable[..., HttpResponse]


def _button(permission: str) -> Callable[[_View], _View]:
    """A view of a POST with this permission; a GET, such as after a login, leads to the queue."""

    def decorate(view: _View) -> _View:
        def post_only(request: HttpRequest, **kwargs: Any) -> HttpResponse:
            staff_of(request, "users.view_user", permission)
            return view(request, **kwargs) if request.method == "POST" else redirect(QUEUE)

        return post_only

    return decorate


@_button(claims.PERMISSION)
def next_case(request: HttpRequest) -> HttpResponse:
    """Open the case that the person holds, or else claim the one that has waited longest."""
    staff = staff_of(request)
    if (held := claims.case_in_hand(staff)) is not None:
        messages.info(request, _("You hold this case: decide it or release it, then the next one follows."))
        return redirect("backoffice_case", held.pk)
    user = claims.next_case(staff=staff, request_id=request_id_of(request))
    if user is None:
        messages.info(request, _("No case is free: each one that waits is claimed."))
        return redirect(QUEUE)
    return redirect("backoffice_case", user.pk)


@_button(claims.PERMISSION)
def claim(request: HttpRequest, user_id: UUID) -> HttpResponse:
    """Claim a case and open it."""
    user = get_object_or_404(User, pk=user_id)
    try:
        claims.claim(user=user, staff=staff_of(request), request_id=request_id_of(request))
    except claims.ClaimRefusedError as refusal:
        messages.error(request, str(refusal))
        return _back(request, QUEUE)
    return redirect("backoffice_case", user.pk)


@_button(claims.PERMISSION)
def release(request: HttpRequest, user_id: UUID) -> HttpResponse:
    """Release a case."""
    user = get_object_or_404(User, pk=user_id)
    try:
        claims.release(user=user, staff=staff_of(request), request_id=request_id_of(request))
    except claims.ClaimRefusedError as refusal:
        messages.error(request, str(refusal))
    else:
        messages.success(request, _("The case is free again."))
    return _back(request, QUEUE)


@_button(compliance.PERMISSION)
def reviewed(request: HttpRequest, user_id: UUID) -> HttpResponse:
    """Record that a changed name or birth date was reviewed."""
    user = get_object_or_404(User, pk=user_id)
    shown = Version.parse(request.POST.get("version", ""))
    try:
        decisions.mark_reviewed(user_id=user.pk, shown=shown, by=staff_of(request), request_id=request_id_of(request))
    except compliance.DecisionRefusedError as refusal:
        messages.error(request, str(refusal))
    else:
        messages.success(request, _("%(user)s is marked as reviewed.") % {"user": user.external_id})
    return _back(request, CHANGED)


def _back(request: HttpRequest, default: str) -> HttpResponse:
    """A redirect to the list that the button was on, filtered as it was."""
    url = request.POST.get("back", "")
    is_ours = url.startswith("/") and url_has_allowed_host_and_scheme(url, allowed_hosts=None)
    return redirect(url if is_ours else default)
