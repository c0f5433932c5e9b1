"""What staff do on a case: decide, propose, approve, ask the partner, note, claim, release."""

from dataclasses import dataclass
from functools import partial
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import permission_required
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from backoffice.access import VIEW_CASES, record_access, request_id_of, staff_of
from backoffice.actions import Act, Action, say_taken
from backoffice.case.forms import AddNoteForm, ApproveForm, DecisionForm, DeclineForm
from backoffice.case.page import case_context
from backoffice.case.requirements import AskForm, check_confirmed, close_form
from backoffice.lists.pages import QUEUE, url_for
from core.refusals import RefusedError
from users import claims, requirements
from users.decisions import compliance, proposals
from users.models import AccessKind, OpenedPage, Proposal, Status, StatusChange, User

# How fresh the second factor of the second person is.
APPROVAL_FRESH_SECONDS = 10 * 60


@require_safe
@permission_required(VIEW_CASES, raise_exception=True)
def case(request: HttpRequest, user_id: UUID) -> HttpResponse:
    """Show a user and what a decision needs."""
    return case_page(request, user_id)


def case_page(
    request: HttpRequest, user_id: UUID, *, status: int = 200, refusal: object = None, **sent: Any
) -> HttpResponse:
    """The case, with what was sent, to show it again. sent, refusal: see case_context. Raises Http404."""
    users = User.objects.select_related("partner").select_for_update(no_key=True, of=("self",))
    with transaction.atomic():
        # Locked until it is recorded: the page shows every change that is older (AccessRecord.last_opening).
        user = get_object_or_404(users, pk=user_id)
        record_access(request, AccessKind.OPENED, user=user, detail=OpenedPage.CASE)
    context = case_context(request, user, refusal=refusal, **sent)
    return render(request, "backoffice/case/page.html", context, status=status)


@dataclass(frozen=True, kw_only=True)
class CaseAction(Action):
    """On a case, which shows the form again, as `sent_as` of case_context. goes_on: to the next case."""

    permissions: tuple[str, ...] = (VIEW_CASES, compliance.PERMISSION)
    home: Any = lambda act: redirect("backoffice_case", act.row.pk)
    sent_as: str
    goes_on: bool = False

    def show(self, act: Act) -> HttpResponse:
        return case_page(act.request, act.row.pk, status=act.status, refusal=act.refusal, **{self.sent_as: act.form})

    def succeed(self, act: Act, done: str) -> HttpResponse:
        """Go on to the next case, or stay on this one, as the person chose; say what was done."""
        # The next case is a real user's.
        if not self.goes_on or act.request.POST.get("then") == "stay" or act.row.is_sandbox:
            return super().succeed(act, done)
        try:
            following = claims.next_case(staff=act.staff, request_id=request_id_of(act.request))
        except RefusedError:
            following = None
        text = _("%(done)s This is the next case.") if following else _("%(done)s There is no free case.")
        say_taken(act, text % {"done": done})
        return redirect("backoffice_case", following.pk) if following else redirect(QUEUE)


# Decisions


@CaseAction(
    form_class=DecisionForm,
    form_options=lambda act: {"present": Status(act.row.status), "to_status": act.request.POST.get("to_status", "")},
    sent_as="form",
    rule_comes_first=True,
    goes_on=True,
)
def decide(act: Act) -> object:
    """Move a user's status, or propose it where that takes two people."""
    if act.form.to_status not in Status.values:
        return case_page(act.request, act.row.pk, status=400, refusal=_("Unknown status."))
    made = {**act.form.reason(), **act.made_on}
    decided = proposals.decide_or_propose(compliance.Decision(user=act.row, to_status=act.form.to_status, **made))
    if isinstance(decided, Proposal):
        return _("%(user)s waits for a second person.") % {"user": act.row.external_id}
    return _now(act.row, decided)


@CaseAction(form_class=ApproveForm, sent_as="approve", fresh_seconds=APPROVAL_FRESH_SECONDS)
def approve_proposal(act: Act) -> str:
    """Approve another person's proposal."""
    proposal, note = act.sent_row(act.row.proposals, "proposal"), act.form.cleaned_data["note"]
    return _now(act.row, proposals.approve(proposal_id=proposal.pk, note=note, **act.made_on))


@CaseAction(form_class=DeclineForm, sent_as="decline", rule_comes_first=True)
def decline_proposal(act: Act) -> str:
    """Decline a proposal."""
    proposal = act.sent_row(act.row.proposals, "proposal")
    proposals.decline(proposal_id=proposal.pk, note=act.form.cleaned_data.get("note", ""), **act.made_by)
    return _("The proposal is declined.")


@CaseAction(form_class=AddNoteForm, sent_as="note_form")
def add_note(act: Act) -> str:
    """Add a note to the case."""
    compliance.add_note(user=act.row, text=act.form.cleaned_data["note"], by=act.staff)
    return _("The note is recorded.")


def _now(user: User, change: StatusChange) -> str:
    return _("%(user)s is now: %(status)s.") % {"user": user.external_id, "status": Status(change.to_status).label}


# Requirements, by the rules of users/requirements/


@CaseAction(form_class=AskForm, sent_as="ask", goes_on=True)
def ask(act: Act) -> object:
    """Show what the partner will read; sent from there, ask."""
    if (step := act.request.POST.get("step")) != "send":
        return case_page(act.request, act.row.pk, ask=act.form, is_confirmed=step != "edit")
    check_confirmed(act.form, user=act.row, staff=act.staff, signed=act.request.POST.get("confirmed", ""))
    requirements.open_requirement(user=act.row, **act.form.requirement(), **act.made_on)
    return _("%(user)s waits for the partner.") % {"user": act.row.external_id}


@CaseAction(
    form_class=close_form,
    form_options=lambda act: {"requirement_id": act.sent_row(act.row.requirements, "requirement").pk},
    sent_as="close",
)
def close_requirement(act: Act) -> str:
    """Close a requirement."""
    wanted, note = act.sent_row(act.row.requirements, "requirement"), act.form.cleaned_data["note"]
    requirements.close_requirement(requirement_id=wanted.pk, note=note, **act.made_on)
    return _("The requirement is closed.")


# Claims


def _back(act: Act) -> HttpResponse:
    """A redirect to the list that the button was on, filtered as it was; it says why nothing was done."""
    if act.refusal:
        messages.error(act.request, str(act.refusal))
    url = act.request.POST.get("back", "")
    is_ours = url.startswith("/") and url_has_allowed_host_and_scheme(url, allowed_hosts=None)
    return redirect(url if is_ours else url_for(QUEUE, act.row))


# A button of a list.
_ListAction = partial(Action, permissions=(VIEW_CASES, claims.PERMISSION), page=_back, home=_back)


@_ListAction()
def claim(act: Act) -> HttpResponse:
    """Claim a case and open it."""
    claims.claim(user=act.row, staff=act.staff, request_id=request_id_of(act.request))
    return redirect("backoffice_case", act.row.pk)


@_ListAction()
def release(act: Act) -> str:
    """Release a case."""
    claims.release(user=act.row, staff=act.staff, request_id=request_id_of(act.request))
    return _("The case is free again.")


def next_case(request: HttpRequest) -> HttpResponse:
    """Open the case that the person holds, or else claim the one that has waited longest."""
    staff = staff_of(request, VIEW_CASES, claims.PERMISSION)
    if request.method != "POST":
        return redirect(QUEUE)
    if (held := claims.current_case(staff)) is not None:
        messages.info(request, _("You hold this case: decide it or release it, then the next one follows."))
        return redirect("backoffice_case", held.pk)
    user = claims.next_case(staff=staff, request_id=request_id_of(request))
    if user is None:
        messages.info(request, _("No case is free: all waiting cases are claimed."))
        return redirect(QUEUE)
    return redirect("backoffice_case", user.pk)
