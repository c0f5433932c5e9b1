"""What staff do on a case: decide, propose, approve, ask the partner, note, claim, release, hold."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any
from uuid import UUID

from django import forms
from django.contrib import admin, messages
from django.contrib.auth.decorators import permission_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.html import format_html
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_safe

from backoffice.access import record_opening, request_id_of, staff_of
from backoffice.actions import Act, Action
from backoffice.case.forms import ApproveForm, DecisionForm, DeclineForm, NoteForm
from backoffice.case.page import case_context
from backoffice.case.requirements import AskForm, CloseForm, check_confirmed
from backoffice.lists.pages import QUEUE, url_for
from core.refusals import RefusedError
from users import claims, requirements, retention
from users.decisions import compliance, proposals
from users.models import Hold, Proposal, RequirementCode, Status, StatusChange, User
from users.models.approvals import REASON_LENGTH

VIEW_CASES = "users.view_user"
# How fresh the second factor of the second person is.
APPROVAL_FRESH_SECONDS = 10 * 60
# Values of `step` of the form that asks, by the button; without one it is sent for its second step.
TEMPLATE, EDIT, SEND = "template", "edit", "send"


@require_safe
@permission_required(VIEW_CASES, raise_exception=True)
def case(request: HttpRequest, user_id: UUID) -> HttpResponse:
    """Show a user and what a decision needs."""
    return case_page(request, user_id)


def case_page(
    request: HttpRequest, user_id: UUID, *, status: int = 200, refusal: object = None, **sent: Any
) -> HttpResponse:
    """The case, with what was sent, to show it again. sent, refusal: see case_context. Raises Http404."""
    user = user_or_404(user_id)
    record_opening(request, user)
    context = case_context(request, user, refusal=refusal, **sent)
    return render(request, "backoffice/case/page.html", context, status=status)


def user_or_404(user_id: UUID) -> User:
    """The user, with the partner. Raises Http404."""
    return get_object_or_404(User.objects.select_related("partner"), pk=user_id)


@dataclass(frozen=True, kw_only=True)
class CaseAction(Action):
    """On a case, which shows the form again: 422 where it is not valid, 409 where the rules refuse it.

    sent_as: the argument of case_context by which the case shows the form. goes_on: whether the person goes on to the
    next case. page: one that shows the form in place of the case.
    """

    permissions: tuple[str, ...] = (VIEW_CASES, compliance.PERMISSION)
    sent_as: str = ""
    goes_on: bool = False
    page: Callable[[Act], HttpResponse] | None = None

    def find(self, **kwargs: Any) -> User:
        return user_or_404(kwargs["user_id"])

    def get(self, act: Act) -> HttpResponse:
        """Go to the case, such as where the page of a refusal is reloaded."""
        return super().get(act) if self.page else redirect("backoffice_case", act.row.pk)

    def show(self, act: Act) -> HttpResponse:
        if self.page:
            return self.page(act)
        sent = {self.sent_as: act.form} if self.sent_as else {}
        return case_page(act.request, act.row.pk, status=act.status, refusal=act.refusal, **sent)

    def succeed(self, act: Act, done: str) -> HttpResponse:
        """Go on to the next case, or stay on this one, as the person chose; say what was done."""
        following, target = act.row, redirect("backoffice_case", act.row.pk)
        # The next case is a real user's.
        if self.goes_on and act.request.POST.get("then") != "stay" and not act.row.is_sandbox:
            try:
                following = claims.next_case(staff=act.staff, request_id=request_id_of(act.request))
            except RefusedError:
                following = None
            text = _("%(done)s This is the next case.") if following else _("%(done)s There is no free case.")
            done = text % {"done": done}
            target = redirect("backoffice_case", following.pk) if following else redirect(QUEUE)
        say_taken(act, done)
        return target


def say_taken(act: Act, text: str) -> None:
    """Say that what was sent was done, on the next page, which then forgets what the person typed (backoffice.js)."""
    messages.success(act.request, format_html("<span data-taken>{}</span>", text))


# Decisions


def _decision_options(act: Act) -> dict[str, Any]:
    return {"present": Status(act.row.status), "to_status": act.request.POST.get("to_status", "")}


@CaseAction(
    form_class=DecisionForm, form_options=_decision_options, sent_as="form", rule_comes_first=True, goes_on=True
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


@CaseAction(form_class=NoteForm, sent_as="note_form")
def add_note(act: Act) -> str:
    """Add a note to the case."""
    compliance.add_note(user=act.row, text=act.form.cleaned_data["text"], by=act.staff)
    return _("The note is recorded.")


def _now(user: User, change: StatusChange) -> str:
    return _("%(user)s is now: %(status)s.") % {"user": user.external_id, "status": Status(change.to_status).label}


# Requirements, by the rules of users/requirements/


@CaseAction(form_class=AskForm, sent_as="ask", rule_comes_first=True, goes_on=True)
def ask(act: Act) -> object:
    """Show what the partner will read; sent from there, ask."""
    step = act.request.POST.get("step", "")
    if step == TEMPLATE and act.request.POST.get("code") in RequirementCode.values:
        return case_page(act.request, act.row.pk, ask=AskForm.from_template(act.request.POST["code"]))
    if not act.form.is_valid():
        return None
    if step != SEND:
        return case_page(act.request, act.row.pk, ask=act.form, is_confirmed=step != EDIT)
    check_confirmed(act.form, user=act.row, staff=act.staff, signed=act.request.POST.get("confirmed", ""))
    requirements.open_requirement(user=act.row, **act.form.requirement(), **act.made_on)
    return _("%(user)s waits for the partner.") % {"user": act.row.external_id}


def _close_options(act: Act) -> dict[str, Any]:
    return {"requirement_id": act.sent_row(act.row.requirements, "requirement").pk}


@CaseAction(form_class=CloseForm, form_options=_close_options, sent_as="close")
def close_requirement(act: Act) -> str:
    """Close a requirement."""
    requirements.close_requirement(
        requirement_id=act.form.requirement_id,
        note=act.form.cleaned_data["note"],
        **act.made_on,
    )
    return _("The requirement is closed.")


# Claims


@dataclass(frozen=True, kw_only=True)
class ListAction(CaseAction):
    """A button of a list, which shows what was done or refused."""

    permissions: tuple[str, ...] = (VIEW_CASES, claims.PERMISSION)

    def get(self, act: Act) -> HttpResponse:
        """Go to the queue, such as after a login."""
        return redirect(QUEUE)

    def show(self, act: Act) -> HttpResponse:
        messages.error(act.request, str(act.refusal))
        return _back(act)

    def succeed(self, act: Act, done: str) -> HttpResponse:
        messages.success(act.request, done)
        return _back(act)


def _back(act: Act) -> HttpResponse:
    """A redirect to the list that the button was on, filtered as it was."""
    url = act.request.POST.get("back", "")
    is_ours = url.startswith("/") and url_has_allowed_host_and_scheme(url, allowed_hosts=None)
    return redirect(url if is_ours else url_for(QUEUE, act.row))


@ListAction()
def claim(act: Act) -> HttpResponse:
    """Claim a case and open it."""
    claims.claim(user=act.row, staff=act.staff, request_id=request_id_of(act.request))
    return redirect("backoffice_case", act.row.pk)


@ListAction()
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


# Holds on the user's records (docs/operations.md, "Records")


class HoldForm(forms.Form):
    """The reason of a hold, or of its release. hold: that is to be released."""

    reason = forms.CharField(
        label=gettext_lazy("Reason"),
        max_length=REASON_LENGTH,
        widget=forms.Textarea(attrs={"rows": 3, "class": "bo-input"}),
    )

    def __init__(self, *args: Any, hold: UUID | None = None, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.hold = hold


def _holds_page(act: Act) -> HttpResponse:
    """The holds, each with the form of its release, and the form of another."""
    listed = [
        {
            "hold": one,
            "release": getattr(one, "release", None),
            "is_own": one.by_id == act.staff.pk,
            "form": act.form if one.pk == act.form.hold else HoldForm(auto_id=f"id_{one.pk}_%s"),
        }
        for one in Hold.objects.filter(user=act.row).select_related("by", "release__by").order_by("-created_at", "id")
    ]
    context = {
        **admin.site.each_context(act.request),
        "title": _("Holds of case %(id)s") % {"id": str(act.row.pk)[:8]},
        "case_user": act.row,
        "holds": listed,
        "is_held": any(one["release"] is None for one in listed),
        "form": HoldForm() if act.form.hold else act.form,
        "refusal": act.refusal,
    }
    return render(act.request, "backoffice/retention/holds.html", context, status=act.status)


_HoldAction = partial(CaseAction, permissions=(VIEW_CASES, retention.PERMISSION), form_class=HoldForm, page=_holds_page)


@_HoldAction()
def place_hold(act: Act) -> str:
    """Hold a user's records."""
    retention.place_hold(user=act.row, reason=act.form.cleaned_data["reason"], **act.made_by)
    return _("The records of %(user)s are held.") % {"user": act.row.external_id}


def _release_options(act: Act) -> dict[str, Any]:
    return {"hold": act.sent_row(act.row.holds, "hold").pk} if act.request.method == "POST" else {}


@_HoldAction(form_options=_release_options)
def release_hold(act: Act) -> HttpResponse:
    """Release one of the holds."""
    retention.release_hold(hold_id=act.form.hold, reason=act.form.cleaned_data["reason"], **act.made_by)
    say_taken(act, _("The hold is released."))
    return redirect("backoffice_hold", act.row.pk)
