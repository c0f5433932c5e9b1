"""Asking the partner, in two steps, and closing what it was asked, by the rules of users/requirements/."""

from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _

from backoffice.case.actions import CaseAction, case_page
from backoffice.case.requirement_forms import AskForm, CloseForm, check_confirmed
from users.models import RequirementCode
from users.requirements import requirements

# Values of `step`, by the button that was pressed; without one the form is sent for its second step.
TEMPLATE, EDIT, SEND = "template", "edit", "send"


class Ask(CaseAction):
    """Show what the partner will read; sent from there, ask."""

    form_class = AskForm
    sent_as = "ask"
    goes_on = True

    def post(self, request: HttpRequest, user_id: UUID) -> HttpResponse:
        """Do what the button says."""
        step, form = request.POST.get("step", ""), AskForm(request.POST)
        if step == TEMPLATE and request.POST.get("code") in RequirementCode.values:
            return case_page(request, user_id, ask=AskForm.from_template(request.POST["code"]))
        if step != SEND and form.is_valid():
            return case_page(request, user_id, ask=form, is_confirmed=step != EDIT)
        return super().post(request, user_id)

    def act(self) -> str:
        check_confirmed(self.form, user=self.user, staff=self.staff, signed=self.request.POST.get("confirmed", ""))
        requirements.open_requirement(
            user=self.user, **self.form.requirement(), expected_version=self.seen["expected_version"], **self.made_by
        )
        return _("%(user)s waits for the partner.") % {"user": self.user.external_id}


class CloseRequirement(CaseAction):
    """Close a requirement."""

    def get_form(self) -> CloseForm:
        self.requirement = self.sent_row(self.user.requirements, "requirement")
        return CloseForm(self.request.POST, requirement_id=self.requirement.pk)

    def show_again(self, status: int, refusal: object = None) -> HttpResponse:
        close = (str(self.requirement.pk), self.form)
        return case_page(self.request, self.user.pk, status=status, refusal=refusal, close=close)

    def act(self) -> str:
        requirements.close_requirement(
            requirement_id=self.requirement.pk,
            note=self.form.cleaned_data["note"],
            expected_version=self.seen["expected_version"],
            **self.made_by,
        )
        return _("The requirement is closed.")
