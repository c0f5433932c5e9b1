"""The queue: who waits for a decision, and the presses that take a case, give it back or approve several."""

from collections.abc import Callable
from functools import wraps
from typing import Any
from uuid import UUID

from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db import OperationalError
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import path, reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe
from psycopg.errors import QueryCanceled

from users.backoffice.case.forms import DecisionForm
from users.backoffice.queue import approval
from users.backoffice.queue.context import context_of
from users.backoffice.queue.filters import CHANGED, WAITING, View
from users.models import Staff, User
from users.services import claims, compliance, decisions
from users.services.changes import Version

SEEN_BY = "users.view_user"
_VIEWS = {view.name: view for view in (WAITING, CHANGED)}
_Action = Callable[..., HttpResponse]


def _pressed(action: _Action) -> _Action:
    """An action of a POST alone. Whoever comes by a GET, such as from a login in between, sees the queue."""

    @wraps(action)
    def view(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        return action(request, *args, **kwargs) if request.method == "POST" else redirect("backoffice_queue")

    return view


@require_safe
def waiting(request: HttpRequest) -> HttpResponse:
    """Who waits for a decision, or whom a search finds."""
    return _list(request, WAITING)


@require_safe
def changed(request: HttpRequest) -> HttpResponse:
    """Active users whose name or birth date changed since they were approved."""
    return _list(request, CHANGED)


@_pressed
def next_case(request: HttpRequest) -> HttpResponse:
    """Opens the case that the person holds, or else claims the one that has waited longest."""
    staff = _staff(request, SEEN_BY, claims.PERMISSION)
    if (held := claims.case_in_hand(staff)) is not None:
        messages.info(request, _("You hold this case: decide it or release it, then the next one follows."))
        return redirect("backoffice_case", held.pk)
    user = claims.next_case(staff=staff, request_id=_request_id(request))
    if user is None:
        messages.info(request, _("No case is free: each one that waits is claimed."))
        return redirect("backoffice_queue")
    return redirect("backoffice_case", user.pk)


@_pressed
def claim(request: HttpRequest, user_id: UUID) -> HttpResponse:
    """Claims a case and opens it."""
    staff = _staff(request, SEEN_BY, claims.PERMISSION)
    user = get_object_or_404(User, pk=user_id)
    try:
        claims.claim(user=user, staff=staff, request_id=_request_id(request))
    except claims.ClaimRefusedError as refusal:
        messages.error(request, str(refusal))
        return _back(request)
    return redirect("backoffice_case", user.pk)


@_pressed
def release(request: HttpRequest, user_id: UUID) -> HttpResponse:
    """Gives a case back."""
    staff = _staff(request, SEEN_BY, claims.PERMISSION)
    try:
        claims.release(user=get_object_or_404(User, pk=user_id), staff=staff, request_id=_request_id(request))
    except claims.ClaimRefusedError as refusal:
        messages.error(request, str(refusal))
    else:
        messages.success(request, _("The case is free again."))
    return _back(request)


@_pressed
def reviewed(request: HttpRequest, user_id: UUID) -> HttpResponse:
    """Keeps that a changed name or birth date was looked at."""
    staff = _staff(request, SEEN_BY, compliance.PERMISSION)
    user = get_object_or_404(User, pk=user_id)
    shown = Version.parse(request.POST.get("version", ""))
    try:
        decisions.mark_reviewed(user_id=user.pk, shown=shown, by=staff, request_id=_request_id(request))
    except compliance.DecisionRefusedError as refusal:
        messages.error(request, str(refusal))
    else:
        messages.success(request, _("%(user)s is marked as reviewed.") % {"user": user.external_id})
    return _back(request, CHANGED)


@_pressed
def approve(request: HttpRequest) -> HttpResponse:
    """Approves the chosen rows, and reports what was done and what was not."""
    staff = _staff(request, SEEN_BY, compliance.PERMISSION)
    form = approval.approval_form(request.POST)
    if not approval.choices_of(request):
        messages.error(request, _("Nobody was chosen: tick the cases to approve."))
        return _back(request)
    if not form.is_valid():
        messages.error(request, _("Nothing was done: say why they are approved."))
        sent = frozenset(request.POST.getlist("chosen"))
        return _list(request, _view(request), unapproved=form, chosen=sent, code=422)
    return approval.approve(request, form, by=staff, back=_address(request, WAITING), back_title=_("Back to the queue"))


def _list(
    request: HttpRequest,
    view: View,
    *,
    unapproved: DecisionForm | None = None,
    chosen: frozenset[str] = frozenset(),
    code: int = 200,
) -> HttpResponse:
    reader = _staff(request, SEEN_BY)
    asked = (QueryDict(request.POST.get("back", "")) if request.method == "POST" else request.GET).dict()
    try:
        context = context_of(request, view=view, reader=reader, asked=asked, approval=unapproved, chosen=chosen)
    except OperationalError as error:
        if not asked or not isinstance(error.__cause__, QueryCanceled):
            raise
        messages.error(request, _("That took too long. Search for more of it, or choose other filters."))
        return redirect(view.url_name)
    return render(request, "backoffice/queue.html", context, status=code)


def _view(request: HttpRequest, otherwise: View = WAITING) -> View:
    return _VIEWS.get(request.POST.get("view", ""), otherwise)


def _back(request: HttpRequest, otherwise: View = WAITING) -> HttpResponse:
    return redirect(_address(request, otherwise))


def _address(request: HttpRequest, otherwise: View) -> str:
    # To the list that the press came from, as it was filtered; a form can name no other address.
    query = QueryDict(request.POST.get("back", "")).urlencode()
    return reverse(_view(request, otherwise).url_name) + (f"?{query}" if query else "")


def _request_id(request: HttpRequest) -> str:
    return str(getattr(request, "request_id", ""))


def _staff(request: HttpRequest, *permissions: str) -> Staff:
    if not isinstance(request.user, Staff) or not request.user.has_perms(permissions):
        raise PermissionDenied
    return request.user


urlpatterns = [
    path("queue/", admin.site.admin_view(waiting), name="backoffice_queue"),
    path("queue/changed/", admin.site.admin_view(changed), name="backoffice_changed"),
    path("queue/next/", admin.site.admin_view(next_case), name="backoffice_next"),
    path("queue/approve/", admin.site.admin_view(approve), name="backoffice_approve"),
    path("queue/<uuid:user_id>/claim/", admin.site.admin_view(claim), name="backoffice_claim"),
    path("queue/<uuid:user_id>/release/", admin.site.admin_view(release), name="backoffice_release"),
    path("queue/<uuid:user_id>/reviewed/", admin.site.admin_view(reviewed), name="backoffice_reviewed"),
]
