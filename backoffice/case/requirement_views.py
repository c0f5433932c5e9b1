"""Asking the partner, in two steps, and closing what it was asked, by the rules of users/requirements/."""

from http import HTTPStatus
from uuid import UUID

from django.contrib.auth.decorators import permission_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.utils.translation import gettext as _

from backoffice.access import request_id_of, staff_of
from backoffice.case.ask_confirmation import check_confirmed
from backoffice.case.requirement_forms import AskForm, CloseForm
from backoffice.case.views import PERMISSION, USER_PAGE, after_decision, case_page, say_taken, user_or_404
from partners.refusals import RefusedError
from users.decisions import compliance
from users.decisions.lock_timeouts import convert_lock_timeout
from users.models import RequirementCode
from users.requirements import requirements

# Values of `step`, by the button that was pressed; without one the form is sent for its second step.
TEMPLATE, EDIT, SEND = "template", "edit", "send"


@permission_required([PERMISSION, compliance.PERMISSION], raise_exception=True)
def ask(request: HttpRequest, user_id: UUID) -> HttpResponse:
    """Show what the partner will read; sent from there, ask. After a refusal, show the form with its reason."""
    user = user_or_404(user_id)
    if request.method != "POST":
        return redirect("backoffice_case", user.pk)
    step, form = request.POST.get("step", ""), AskForm(request.POST)
    if step == TEMPLATE and request.POST.get("code") in RequirementCode.values:
        return case_page(request, user_id, ask=AskForm.from_template(request.POST["code"]))
    if not form.is_valid():
        return case_page(request, user_id, status=HTTPStatus.UNPROCESSABLE_ENTITY, ask=form)
    if step != SEND:
        return case_page(request, user_id, ask=form, is_confirmed=step != EDIT)
    try:
        check_confirmed(form, user=user, staff=staff_of(request), signed=request.POST.get("confirmed", ""))
        with convert_lock_timeout():
            requirements.open_requirement(
                user=user,
                **form.requirement(),
                by=staff_of(request),
                source=f"request {request_id_of(request)}",
                shown=request.POST.get("version", ""),
            )
    except RefusedError as refusal:
        return case_page(request, user_id, status=HTTPStatus.CONFLICT, ask=form, refusal=refusal)
    return after_decision(request, user, _("%(user)s waits for the partner.") % {"user": user.external_id})


@permission_required([PERMISSION, compliance.PERMISSION], raise_exception=True)
def close_requirement(request: HttpRequest, user_id: UUID) -> HttpResponse:
    """Close a requirement; after a refusal, show the page with its reason."""
    user = user_or_404(user_id)
    if request.method != "POST":
        return redirect("backoffice_case", user.pk)
    wanted = request.POST.get("requirement", "")
    try:
        requirement = get_object_or_404(user.requirements, pk=UUID(wanted))
    except ValueError:
        raise Http404 from None
    form = CloseForm(request.POST, requirement_id=requirement.pk)
    if not form.is_valid():
        return case_page(request, user_id, status=HTTPStatus.UNPROCESSABLE_ENTITY, close=(str(requirement.pk), form))
    try:
        with convert_lock_timeout():
            requirements.close_requirement(
                requirement_id=requirement.pk,
                by=staff_of(request),
                note=form.cleaned_data["note"],
                source=f"request {request_id_of(request)}",
                shown=request.POST.get("version", ""),
            )
    except RefusedError as refusal:
        return case_page(
            request, user_id, status=HTTPStatus.CONFLICT, close=(str(requirement.pk), form), refusal=refusal
        )
    say_taken(request, _("The requirement is closed."))
    is_user_page = request.POST.get("decided_on") == USER_PAGE
    return redirect("admin:users_user_change" if is_user_page else "backoffice_case", user.pk)
