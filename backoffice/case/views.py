"""The case page, its decision forms, and the buttons of cases: take the next one, claim, release."""

from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import permission_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from backoffice.access import request_id_of, staff_of
from backoffice.case.actions import VIEW_CASES, CaseAction, case_page
from backoffice.case.forms import ApproveForm, DecisionForm, DeclineForm, NoteForm
from backoffice.list_urls import QUEUE, url_for
from staff.login.reauthentication import require_fresh_factor
from users.cases import claims
from users.decisions import compliance, proposals
from users.models import Proposal, Status, StatusChange, User

# How fresh the second factor of the second person is.
APPROVAL_FRESH_SECONDS = 10 * 60


@require_safe
@permission_required(VIEW_CASES, raise_exception=True)
def case(request: HttpRequest, user_id: UUID) -> HttpResponse:
    """Show a user and what a decision needs."""
    return case_page(request, user_id)


class Decide(CaseAction):
    """Move a user's status, or propose it where that takes two people."""

    sent_as = "form"
    rule_comes_first = goes_on = True

    def post(self, request: HttpRequest, user_id: UUID) -> HttpResponse:
        if request.POST.get("to_status") not in Status.values:
            return case_page(request, user_id, status=400, refusal=_("Unknown status."))
        return super().post(request, user_id)

    def get_form(self) -> DecisionForm:
        to_status = Status(self.request.POST["to_status"])
        return DecisionForm(present=Status(self.user.status), to_status=to_status, data=self.request.POST)

    def act(self) -> str:
        decision = {"to_status": self.form.to_status, **self.form.reason(), **self.seen, **self.made_by}
        decided = proposals.decide_or_propose(user=self.user, **decision)
        if isinstance(decided, Proposal):
            return _("%(user)s waits for a second person.") % {"user": self.user.external_id}
        return _now(self.user, decided)


class ApproveProposal(CaseAction):
    """Approve another person's proposal, after a fresh second factor."""

    form_class = ApproveForm
    sent_as = "approve"

    def post(self, request: HttpRequest, user_id: UUID) -> HttpResponse:
        verification = require_fresh_factor(request, within=APPROVAL_FRESH_SECONDS)
        return verification or super().post(request, user_id)

    def act(self) -> str:
        proposal = self.sent_row(self.user.proposals, "proposal")
        note = self.form.cleaned_data["note"]
        change = proposals.approve(proposal_id=proposal.pk, note=note, **self.seen, **self.made_by)
        return _now(self.user, change)


class DeclineProposal(CaseAction):
    """Decline a proposal."""

    form_class = DeclineForm
    sent_as = "decline"
    rule_comes_first = True

    def act(self) -> str:
        proposal = self.sent_row(self.user.proposals, "proposal")
        proposals.decline(proposal_id=proposal.pk, note=self.form.cleaned_data.get("note", ""), **self.made_by)
        return _("The proposal is declined.")


class AddNote(CaseAction):
    """Add a note to the case."""

    form_class = NoteForm
    sent_as = "note_form"

    def act(self) -> str:
        compliance.add_note(user=self.user, text=self.form.cleaned_data["text"], by=self.staff)
        return _("The note is recorded.")


class ListAction(CaseAction):
    """A button of a list, which shows what was done or refused."""

    permission = claims.PERMISSION

    def get(self, request: HttpRequest, user_id: UUID) -> HttpResponse:
        """Go to the queue, such as after a login."""
        return redirect(QUEUE)

    def show_again(self, status: int, refusal: object = None) -> HttpResponse:
        messages.error(self.request, str(refusal))
        return self._back()

    def succeed(self, done: str) -> HttpResponse:
        messages.success(self.request, done)
        return self._back()

    def _back(self) -> HttpResponse:
        """A redirect to the list that the button was on, filtered as it was."""
        url = self.request.POST.get("back", "")
        is_ours = url.startswith("/") and url_has_allowed_host_and_scheme(url, allowed_hosts=None)
        return redirect(url if is_ours else url_for(QUEUE, self.user))


class Claim(ListAction):
    """Claim a case and open it."""

    def act(self) -> str:
        claims.claim(user=self.user, staff=self.staff, request_id=request_id_of(self.request))
        return ""

    def succeed(self, done: str) -> HttpResponse:
        return redirect("backoffice_case", self.user.pk)


class Release(ListAction):
    """Release a case."""

    def act(self) -> str:
        claims.release(user=self.user, staff=self.staff, request_id=request_id_of(self.request))
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


def _now(user: User, change: StatusChange) -> str:
    return _("%(user)s is now: %(status)s.") % {"user": user.external_id, "status": Status(change.to_status).label}
