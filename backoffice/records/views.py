"""Holds on a user's records, and the users whose records are due for erasure (docs/operations.md, "Records")."""

from http import HTTPStatus
from uuid import UUID

from django.contrib import admin, messages
from django.contrib.auth.decorators import permission_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from backoffice.access import request_id_of, staff_of
from backoffice.records.forms import DueForm, HoldForm
from partners.refusals import RefusedError
from users.decisions import compliance
from users.decisions.lock_timeouts import convert_lock_timeout
from users.models import Hold, User
from users.records import holds
from users.records.retention import due_users

VIEW = "users.view_user"
VIEW_DUE = "users.view_due_for_erasure"
# Rows of the list; the command retention_report has all.
MOST_SHOWN = 200

_decides = permission_required([VIEW, compliance.PERMISSION], raise_exception=True)


@require_http_methods(["GET", "HEAD", "POST"])
@_decides
def hold(request: HttpRequest, user_id: UUID) -> HttpResponse:
    """Show the holds on a user's records and the form of another; a POST places it."""
    user = _user(user_id)
    form = HoldForm(request.POST or None)
    if request.method != "POST" or not form.is_valid():
        status = HTTPStatus.OK if request.method != "POST" else HTTPStatus.UNPROCESSABLE_ENTITY
        return _holds_page(request, user, form, status=status)
    try:
        with convert_lock_timeout():
            holds.place_hold(
                user_id=user.pk,
                by=staff_of(request),
                reason=form.cleaned_data["reason"],
                source=f"request {request_id_of(request)}",
            )
    except User.DoesNotExist:
        raise Http404 from None
    except RefusedError as refusal:
        return _holds_page(request, user, form, refusal=refusal, status=HTTPStatus.CONFLICT)
    messages.success(request, _("The records of %(user)s are held.") % {"user": user.external_id})
    return redirect("backoffice_case", user.pk)


@require_POST
@_decides
def release_hold(request: HttpRequest, user_id: UUID) -> HttpResponse:
    """Release one of the holds."""
    user, form = _user(user_id), HoldForm(request.POST)
    try:
        found = get_object_or_404(user.holds, pk=UUID(request.POST.get("hold", "")))
    except ValueError:
        raise Http404 from None
    if not form.is_valid():
        return _holds_page(request, user, form, refused=found.pk, status=HTTPStatus.UNPROCESSABLE_ENTITY)
    try:
        holds.release_hold(
            hold_id=found.pk,
            by=staff_of(request),
            reason=form.cleaned_data["reason"],
            source=f"request {request_id_of(request)}",
        )
    except RefusedError as refusal:
        return _holds_page(request, user, form, refused=found.pk, refusal=refusal, status=HTTPStatus.CONFLICT)
    messages.success(request, _("The hold is released."))
    return redirect("backoffice_hold", user.pk)


@require_safe
@permission_required(VIEW_DUE, raise_exception=True)
def due_for_erasure(request: HttpRequest) -> HttpResponse:
    """List the users whose records are due, or will be soon, with the figures of retention_report."""
    form = DueForm(request.GET)
    users = due_users(within_days=form.days_ahead())
    context = {
        **admin.site.each_context(request),
        "title": _("Due for erasure"),
        "form": form,
        "users": users[:MOST_SHOWN],
        "due": len(users),
        "held": sum(user.held for user in users),
        "more": max(len(users) - MOST_SHOWN, 0),
    }
    return render(request, "backoffice/records/due.html", context)


def _user(user_id: UUID) -> User:
    return get_object_or_404(User.objects.select_related("partner"), pk=user_id)


def _holds_page(
    request: HttpRequest,
    user: User,
    form: HoldForm,
    *,
    status: int,
    refused: UUID | None = None,
    refusal: object = None,
) -> HttpResponse:
    """Render the page. refused: the hold whose release was not valid, with its form; else it is that of a new one."""
    staff = staff_of(request)
    listed = [
        {
            "hold": one,
            "release": getattr(one, "release", None),
            "is_own": one.by_id == staff.pk,
            "form": form if one.pk == refused else HoldForm(auto_id=f"id_{one.pk}_%s"),
        }
        for one in Hold.objects.filter(user=user).select_related("by", "release__by").order_by("-created_at", "id")
    ]
    context = {
        **admin.site.each_context(request),
        "title": _("Holds of case %(id)s") % {"id": str(user.pk)[:8]},
        "case_user": user,
        "holds": listed,
        "form": HoldForm() if refused else form,
        "refusal": refusal,
    }
    return render(request, "backoffice/records/holds.html", context, status=status)
