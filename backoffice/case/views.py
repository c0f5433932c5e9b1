"""The case page, its decision forms, and the buttons of cases: take the next one, claim, release, mark as reviewed."""

from collections.abc import Callable
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import permission_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.html import format_html
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from backoffice.access import record_opening, request_id_of, staff_of
from backoffice.case.forms import DecisionForm, DeclineForm, NoteForm, ReviewForm
from backoffice.case.page import Sent, case_context
from backoffice.list_urls import CHANGED, QUEUE, url_for
from partners.refusals import RefusedError
from users.cases import claims
from users.decisions import case_notes, compliance, proposals
from users.decisions.lock_timeouts import convert_lock_timeout
from users.models import Page, Proposal, Status, StatusChange, User
from users.staff_login.reauthentication import require_fresh_factor

PERMISSION = "users.view_user"
# Sent as `decided_on` by the forms on the admin's page of a user, where the person returns to.
USER_PAGE = "user"
# How fresh the second factor of the second person is.
APPROVAL_FRESH_SECONDS = 10 * 60
_View = Callable[..., HttpResponse]


@require_safe
@permission_required(PERMISSION, raise_exception=True)
def case(request: HttpRequest, user_id: UUID) -> HttpResponse:
    """Show a user and what a decision needs."""
    return case_page(request, user_id)


@permission_required([PERMISSION, compliance.PERMISSION], raise_exception=True)
def decide(request: HttpRequest, user_id: UUID) -> HttpResponse:
    """Move a user's status and go on to the next case; after a refusal, show the page with its reason."""
    user = user_or_404(user_id)
    if request.method != "POST":
        # The address of a refusal's page was reloaded.
        return redirect("backoffice_case", user.pk)
    to_status = request.POST.get("to_status", "")
    if to_status not in Status.values:
        return case_page(request, user_id, status=400, refusal=_("Unknown status."))
    form = DecisionForm(present=Status(user.status), to_status=Status(to_status), data=request.POST)
    try:
        with convert_lock_timeout():
            change = compliance.decide(
                user_id=user.pk,
                shown=request.POST.get("version", ""),
                signed=request.POST.get("shown", ""),
                to_status=to_status,
                **form.reason(),
                by=staff_of(request),
                source=f"request {request_id_of(request)}",
            )
    except compliance.TwoPeopleError:
        return _propose(request, user, form)
    except compliance.ReasonMissingError:
        return case_page(request, user_id, status=422, form=form)
    except RefusedError as refusal:
        return case_page(request, user_id, status=409, form=form, refusal=refusal)
    return after_decision(request, user, _now(user, change))


def _propose(request: HttpRequest, user: User, form: DecisionForm) -> HttpResponse:
    """Propose what takes two people."""
    try:
        with convert_lock_timeout():
            proposals.propose(
                user=user,
                shown=request.POST.get("version", ""),
                signed=request.POST.get("shown", ""),
                to_status=form.to_status,
                **form.reason(),
                by=staff_of(request),
                source=f"request {request_id_of(request)}",
            )
    except compliance.ReasonMissingError:
        return case_page(request, user.pk, status=422, form=form)
    except RefusedError as refusal:
        return case_page(request, user.pk, status=409, form=form, refusal=refusal)
    done = _("%(user)s waits for a second person.") % {"user": user.external_id}
    return after_decision(request, user, done)


@permission_required([PERMISSION, compliance.PERMISSION], raise_exception=True)
def approve_proposal(request: HttpRequest, user_id: UUID) -> HttpResponse:
    """Approve another person's proposal, after a fresh second factor; show the page with the reason of a refusal."""
    user = user_or_404(user_id)
    if request.method != "POST":
        return redirect("backoffice_case", user.pk)
    if (verification := require_fresh_factor(request, within=APPROVAL_FRESH_SECONDS)) is not None:
        return verification
    try:
        with convert_lock_timeout():
            change = proposals.approve(
                proposal_id=_proposal_of(request, user).pk,
                by=staff_of(request),
                source=f"request {request_id_of(request)}",
                signed=request.POST.get("shown", ""),
            )
    except RefusedError as refusal:
        return case_page(request, user_id, status=409, refusal=refusal)
    messages.success(request, _now(user, change))
    return redirect("backoffice_case", user.pk)


@permission_required([PERMISSION, compliance.PERMISSION], raise_exception=True)
def decline_proposal(request: HttpRequest, user_id: UUID) -> HttpResponse:
    """Decline a proposal; after a refusal, show the page with its reason."""
    user = user_or_404(user_id)
    if request.method != "POST":
        return redirect("backoffice_case", user.pk)
    form = DeclineForm(request.POST)
    try:
        with convert_lock_timeout():
            proposals.decline(
                proposal_id=_proposal_of(request, user).pk,
                by=staff_of(request),
                note=form.cleaned_data["note"] if form.is_valid() else "",
                source=f"request {request_id_of(request)}",
            )
    except compliance.ReasonMissingError:
        return case_page(request, user_id, status=422, decline=form)
    except RefusedError as refusal:
        return case_page(request, user_id, status=409, decline=form, refusal=refusal)
    say_taken(request, _("The proposal is declined."))
    return redirect("backoffice_case", user.pk)


@permission_required([PERMISSION, compliance.PERMISSION], raise_exception=True)
def add_note(request: HttpRequest, user_id: UUID) -> HttpResponse:
    """Add a note to the case; after a refusal, show the page with its reason."""
    user = user_or_404(user_id)
    if request.method != "POST":
        return redirect("backoffice_case", user.pk)
    form = NoteForm(request.POST)
    if not form.is_valid():
        return case_page(request, user_id, status=422, note_form=form)
    case_notes.add_note(user=user, text=form.cleaned_data["text"], by=staff_of(request))
    say_taken(request, _("The note is recorded."))
    return redirect("backoffice_case", user.pk)


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
    if (held := claims.current_case(staff)) is not None:
        messages.info(request, _("You hold this case: decide it or release it, then the next one follows."))
        return redirect("backoffice_case", held.pk)
    user = claims.next_case(staff=staff, request_id=request_id_of(request))
    if user is None:
        messages.info(request, _("No case is free: all waiting cases are claimed."))
        return redirect(QUEUE)
    return redirect("backoffice_case", user.pk)


@_button(claims.PERMISSION)
def claim(request: HttpRequest, user_id: UUID) -> HttpResponse:
    """Claim a case and open it."""
    user = user_or_404(user_id)
    try:
        with convert_lock_timeout():
            claims.claim(user=user, staff=staff_of(request), request_id=request_id_of(request))
    except RefusedError as refusal:
        messages.error(request, str(refusal))
        return _back(request, url_for(QUEUE, user))
    return redirect("backoffice_case", user.pk)


@_button(claims.PERMISSION)
def release(request: HttpRequest, user_id: UUID) -> HttpResponse:
    """Release a case."""
    user = user_or_404(user_id)
    try:
        with convert_lock_timeout():
            claims.release(user=user, staff=staff_of(request), request_id=request_id_of(request))
    except RefusedError as refusal:
        messages.error(request, str(refusal))
    else:
        messages.success(request, _("The case is free again."))
    return _back(request, url_for(QUEUE, user))


@_button(compliance.PERMISSION)
def reviewed(request: HttpRequest, user_id: UUID) -> HttpResponse:
    """Record that a changed name or birth date was reviewed; after a refusal, show the page with its reason."""
    user, form = user_or_404(user_id), ReviewForm(request.POST)
    try:
        with convert_lock_timeout():
            compliance.mark_reviewed(
                user_id=user.pk,
                shown=request.POST.get("version", ""),
                signed=request.POST.get("shown", ""),
                note=form.cleaned_data["note"] if form.is_valid() else "",
                by=staff_of(request),
                request_id=request_id_of(request),
            )
    except compliance.ReasonMissingError:
        return case_page(request, user_id, status=422, review=form)
    except RefusedError as refusal:
        return case_page(request, user_id, status=409, review=form, refusal=refusal)
    say_taken(request, _("%(user)s is marked as reviewed.") % {"user": user.external_id})
    if request.POST.get("decided_on") == USER_PAGE:
        return redirect("admin:users_user_change", user.pk)
    return redirect(url_for(CHANGED, user))


def case_page(
    request: HttpRequest, user_id: UUID, *, status: int = 200, refusal: object = None, **sent: Any
) -> HttpResponse:
    """The case, with what was sent, to show it again. sent: see Sent. refusal: why nothing was done. Raises Http404."""
    user = user_or_404(user_id)
    record_opening(request, user, Page.CASE)
    # A form that is sent again returns to the same page.
    context = case_context(request, user, Sent(**sent), refusal=refusal) | {
        "decided_on": request.POST.get("decided_on", "")
    }
    return render(request, "backoffice/case/page.html", context, status=status)


def say_taken(request: HttpRequest, text: str) -> None:
    """Say that what was sent was done, on the next page, which then forgets what the person typed (backoffice.js)."""
    messages.success(request, format_html("<span data-taken>{}</span>", text))


def _now(user: User, change: StatusChange) -> str:
    return _("%(user)s is now: %(status)s.") % {"user": user.external_id, "status": Status(change.to_status).label}


def after_decision(request: HttpRequest, user: User, done: str) -> HttpResponse:
    """Go on to the next case, or stay, as the person chose. done: what was done, for people."""
    # The next case is a real user's.
    if request.POST.get("then") == "stay" or user.is_sandbox:
        say_taken(request, done)
        is_user_page = request.POST.get("decided_on") == USER_PAGE
        return redirect("admin:users_user_change" if is_user_page else "backoffice_case", user.pk)
    try:
        following = claims.next_case(staff=staff_of(request), request_id=request_id_of(request))
    except RefusedError:
        following = None
    if following is None:
        say_taken(request, _("%(done)s There is no free case.") % {"done": done})
        return redirect(QUEUE)
    say_taken(request, _("%(done)s This is the next case.") % {"done": done})
    return redirect("backoffice_case", following.pk)


def user_or_404(user_id: UUID) -> User:
    """The user, with the partner. Raises Http404."""
    return get_object_or_404(User.objects.select_related("partner"), pk=user_id)


def _proposal_of(request: HttpRequest, user: User) -> Proposal:
    """The proposal that the form names. Raises Http404."""
    try:
        wanted = UUID(request.POST.get("proposal", ""))
    except ValueError:
        raise Http404 from None
    return get_object_or_404(user.proposals, pk=wanted)


def _back(request: HttpRequest, default: str) -> HttpResponse:
    """A redirect to the list that the button was on, filtered as it was."""
    url = request.POST.get("back", "")
    is_ours = url.startswith("/") and url_has_allowed_host_and_scheme(url, allowed_hosts=None)
    return redirect(url if is_ours else default)
