"""The case page: one screen to decide on, and the press of the decision itself."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import path
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from users.backoffice.case.decisions import ClaimedError, DecisionForm, StaleError, decide
from users.backoffice.case.page import context_of
from users.models import AccessKind, Staff, Status, StatusChange, User
from users.models.columns import IDENTITY_PERMISSION
from users.services import access_log, claims, compliance
from users.services.changes import Version

SEEN_BY = "users.view_user"
# What forms of the admin's page of a user send as `decided_on`.
USERS_PAGE = "user"


@require_safe
def case(request: HttpRequest, user_id: UUID) -> HttpResponse:
    """A user, and all that a decision needs. Whoever opens it is recorded."""
    _staff(request, SEEN_BY)
    return _page(request, _user(user_id))


def decision(request: HttpRequest, user_id: UUID) -> HttpResponse:
    """Moves a user's status and goes on to the next case; or the page again, saying why nothing was done."""
    staff = _staff(request, SEEN_BY, compliance.PERMISSION)
    user = _user(user_id)
    if request.method != "POST":
        # Somebody loaded the address of the page that said so.
        return redirect("backoffice_case", user.pk)
    if (to_status := request.POST.get("to_status", "")) not in Status.values:
        return _page(request, user, refusal={"text": _("There is no such status.")}, code=400)
    form = DecisionForm(present=Status(user.status), to_status=Status(to_status), data=request.POST)
    change, refusal = _decided(request, user, staff, form)
    if change is not None:
        return _after(request, user, staff, change)
    # Read again: it may have changed since. A form that lacks something is shown open, with what it lacks.
    return _page(request, _user(user_id), refusal=refusal, form=form, code=409 if refusal else 422)


def _decided(
    request: HttpRequest, user: User, staff: Staff, form: DecisionForm
) -> tuple[StatusChange | None, dict[str, Any] | None]:
    """The move that was made, or why none was; neither where the form says what it lacks."""
    try:
        change = decide(
            user_id=user.pk,
            shown=Version.parse(request.POST.get("version", "")),
            form=form,
            by=staff,
            source=f"request {request.request_id}",  # type: ignore[attr-defined]
            sees_identity=staff.has_perm(IDENTITY_PERMISSION),
        )
    except StaleError as stale:
        return None, _changed(stale)
    except ClaimedError as claimed:
        return None, _claimed(claimed)
    except compliance.DecisionRefusedError as refused:
        return None, {"text": str(refused)}
    return change, None


def _page(
    request: HttpRequest,
    user: User,
    *,
    refusal: Mapping[str, Any] | None = None,
    form: DecisionForm | None = None,
    code: int = 200,
) -> HttpResponse:
    # Whatever asked for it: who is shown a case has opened it.
    access_log.record(request, AccessKind.OPENED, user=user, detail=access_log.CASE_PAGE)
    context = context_of(request, user, refusal=refusal, asked=form)
    if _is_of_users_page(request):
        # The next try comes back there too.
        context["decided_on"] = USERS_PAGE
    return render(request, "backoffice/case.html", context, status=code)


def _after(request: HttpRequest, user: User, staff: Staff, change: StatusChange) -> HttpResponse:
    done = _("%(user)s is now: %(status)s.") % {
        "user": user.external_id,
        "status": Status(change.to_status).label,
    }
    if request.POST.get("then") == "stay":
        messages.success(request, done)
        # Back to the page that was decided on: this one, or the admin's page of the user.
        return redirect("admin:users_user_change" if _is_of_users_page(request) else "backoffice_case", user.pk)
    try:
        following = claims.next_case(staff=staff, request_id=request.request_id)  # type: ignore[attr-defined]
    except claims.ClaimRefusedError:
        following = None
    if following is None:
        messages.success(request, _("%(done)s No case is free.") % {"done": done})
        return redirect("admin:users_queueduser_changelist")
    messages.success(request, _("%(done)s This is the next case.") % {"done": done})
    return redirect("backoffice_case", following.pk)


def _is_of_users_page(request: HttpRequest) -> bool:
    return request.POST.get("decided_on") == USERS_PAGE


def _changed(stale: StaleError) -> dict[str, Any]:
    return {
        "text": _("The user has changed since you loaded the page. Look again, then decide."),
        "meanwhile": stale.meanwhile,
    }


def _claimed(claimed: ClaimedError) -> dict[str, Any]:
    name = claimed.claim.staff.get_username()
    return {"text": _("%(name)s has claimed this case: only they decide on it until it is released.") % {"name": name}}


def _staff(request: HttpRequest, *permissions: str) -> Staff:
    if not isinstance(request.user, Staff) or not request.user.has_perms(permissions):
        raise PermissionDenied
    return request.user


def _user(user_id: UUID) -> User:
    return get_object_or_404(User.objects.select_related("partner"), pk=user_id)


urlpatterns = [
    path("cases/<uuid:user_id>/", admin.site.admin_view(case), name="backoffice_case"),
    path("cases/<uuid:user_id>/decide/", admin.site.admin_view(decision), name="backoffice_decide"),
]
