"""What all acts on a case have in common: who may, the form, a refusal by the rules, and the page that follows."""

from http import HTTPStatus
from typing import Any, ClassVar
from uuid import UUID

from django import forms
from django.contrib import messages
from django.db.models import Manager
from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.html import format_html
from django.utils.translation import gettext as _
from django.views import View

from backoffice.access import record_opening, request_id_of, staff_of
from backoffice.case.page import case_context
from backoffice.list_urls import QUEUE
from core.refusals import RefusedError
from staff.models import Staff
from users.cases import claims
from users.decisions import compliance
from users.decisions.compliance import convert_lock_timeout
from users.models import User

VIEW_CASES = "users.view_user"


class CaseAction(View):
    """Something that staff do on a case. A subclass declares what differs, and `act` calls the rule.

    A form that is not valid, and what the rule refuses, are shown on the case again: 422 and 409.
    """

    # Needed as well as the one to view cases.
    permission = compliance.PERMISSION
    form_class: type[forms.Form] = forms.Form
    # The argument of case_context by which the case shows it again; empty where there is none.
    sent_as = ""
    # Whether the rule is called with a form that is not valid, too: what a colleague has done meanwhile is said first.
    rule_comes_first = False
    # Whether the person goes on to the next case.
    goes_on: ClassVar[bool] = False

    staff: Staff
    user: User
    form: Any

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        """Raises PermissionDenied and Http404."""
        self.staff = staff_of(request, VIEW_CASES, self.permission)
        self.user = user_or_404(kwargs["user_id"])
        return super().dispatch(request, *args, **kwargs)

    def get(self, request: HttpRequest, user_id: UUID) -> HttpResponse:
        """Go to the case, such as where the page of a refusal is reloaded."""
        return redirect("backoffice_case", user_id)

    def post(self, request: HttpRequest, user_id: UUID) -> HttpResponse:
        """Do it and say so, or show the case with what was sent and why nothing was done."""
        self.form = self.get_form()
        if not self.form.is_valid() and not self.rule_comes_first:
            self._focus_error()
            return self.show_again(HTTPStatus.UNPROCESSABLE_ENTITY)
        try:
            with convert_lock_timeout():
                done = self.act()
        except compliance.ReasonMissingError:
            return self.show_again(HTTPStatus.UNPROCESSABLE_ENTITY)
        except RefusedError as refusal:
            return self.show_again(HTTPStatus.CONFLICT, refusal)
        except User.DoesNotExist:
            raise Http404 from None
        return self.succeed(done)

    def _focus_error(self) -> None:
        """Have the first text that was refused take the focus; of several choices each would."""
        refused = (self.form.fields[name].widget for name in self.form.errors if name in self.form.fields)
        for widget in [one for one in refused if isinstance(one, forms.Textarea)][:1]:
            widget.attrs["autofocus"] = True

    def get_form(self) -> Any:
        """The form that was sent."""
        return self.form_class(self.request.POST)

    def act(self) -> str:
        """Call the rule; returns what was done, for people. Raises RefusedError."""
        raise NotImplementedError

    def show_again(self, status: int, refusal: object = None) -> HttpResponse:
        """The case, with the form that was sent and why nothing was done."""
        sent = {self.sent_as: self.form} if self.sent_as else {}
        return case_page(self.request, self.user.pk, status=status, refusal=refusal, **sent)

    def succeed(self, done: str) -> HttpResponse:
        """Go on to the next case, or stay on this one, as the person chose; say what was done."""
        # The next case is a real user's.
        if self.goes_on and self.request.POST.get("then") != "stay" and not self.user.is_sandbox:
            return self._go_on(done)
        say_taken(self.request, done)
        return redirect("backoffice_case", self.user.pk)

    def _go_on(self, done: str) -> HttpResponse:
        try:
            following = claims.next_case(staff=self.staff, request_id=request_id_of(self.request))
        except RefusedError:
            following = None
        if following is None:
            say_taken(self.request, _("%(done)s There is no free case.") % {"done": done})
            return redirect(QUEUE)
        say_taken(self.request, _("%(done)s This is the next case.") % {"done": done})
        return redirect("backoffice_case", following.pk)

    @property
    def made_by(self) -> dict[str, Any]:
        """Who acts, and the source that the history names: arguments of the rules."""
        return {"by": self.staff, "source": f"request {request_id_of(self.request)}"}

    @property
    def seen(self) -> dict[str, Any]:
        """On which version of the user the person decided: an argument of the rules."""
        return {"expected_version": self.request.POST.get("version", "")}

    def sent_row(self, rows: Manager[Any], name: str) -> Any:
        """The one of the user's rows whose id the form sends by this name. Raises Http404."""
        try:
            wanted = UUID(self.request.POST.get(name, ""))
        except ValueError:
            raise Http404 from None
        return get_object_or_404(rows, pk=wanted)


def case_page(
    request: HttpRequest, user_id: UUID, *, status: int = 200, refusal: object = None, **sent: Any
) -> HttpResponse:
    """The case, with what was sent, to show it again. sent, refusal: see case_context. Raises Http404."""
    user = user_or_404(user_id)
    record_opening(request, user)
    context = case_context(request, user, refusal=refusal, **sent)
    return render(request, "backoffice/case/page.html", context, status=status)


def say_taken(request: HttpRequest, text: str) -> None:
    """Say that what was sent was done, on the next page, which then forgets what the person typed (backoffice.js)."""
    messages.success(request, format_html("<span data-taken>{}</span>", text))


def user_or_404(user_id: UUID) -> User:
    """The user, with the partner. Raises Http404."""
    return get_object_or_404(User.objects.select_related("partner"), pk=user_id)
