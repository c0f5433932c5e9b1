"""allauth's views with the rules of the staff login."""

from http import HTTPStatus
from typing import Any

from allauth.account import views as account
from allauth.account.forms import SetPasswordForm
from allauth.mfa.adapter import get_adapter
from allauth.mfa.totp.views import ActivateTOTPView
from allauth.mfa.webauthn.views import AddWebAuthnView, RemoveWebAuthnView
from django.contrib import messages
from django.contrib.auth import login
from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods

from core import audit
from core.database.statements import set_context
from staff.login import factors, invitations, sign_ins
from staff.login.middleware import UNSEEN_CODES
from staff.models import Staff


def change_password(request: HttpRequest) -> HttpResponseBase:
    """Change one's own password. Raises Http404 for accounts without one, which cannot set a first one."""
    if not (isinstance(request.user, Staff) and request.user.has_usable_password()):
        raise Http404
    response: HttpResponseBase = account.password_change(request)
    return response


@never_cache
@sensitive_post_parameters()
@require_http_methods(["GET", "POST"])
def accept_invitation(request: HttpRequest) -> HttpResponse:
    """Choose the first password by an invitation's link, and sign in. The page's script sends the fragment's token."""
    if request.user.is_authenticated:
        messages.warning(request, _("You are signed in already: sign out, then open the invitation again."))
        return redirect("admin:index")
    if request.method == "GET":
        return render(request, "account/invitation.html")
    token = request.POST.get("token", "")
    with transaction.atomic():
        staff = invitations.find_invited(token)
        if staff is None:
            return render(request, "account/invitation.html", {"is_refused": True}, status=HTTPStatus.BAD_REQUEST)
        form = SetPasswordForm(data=request.POST if "password1" in request.POST else None, user=staff)
        if not form.is_valid():
            return render(request, "account/invitation_password.html", {"form": form, "token": token, "staff": staff})
        set_context(staff=staff.get_username(), requestId=str(getattr(request, "request_id", "")))
        form.save()
        audit.record(sign_ins.PASSWORD_CHANGED, object=staff.get_username())
    login(request, staff)
    return redirect("admin:index")


class _EnrolView:
    """Counts enrolment as verification, and leads to the recovery codes where there are new ones."""

    request: HttpRequest
    did_generate_recovery_codes: bool

    def form_valid(self, form: Any) -> HttpResponse:
        """Enrol the factor."""
        response: HttpResponse = super().form_valid(form)  # type: ignore[misc]
        factors.record(self.request, self.request.user, "enrolled")
        if self.did_generate_recovery_codes:
            self.request.session[UNSEEN_CODES] = True
        return response


class EnrolTOTP(_EnrolView, ActivateTOTPView):  # type: ignore[misc]
    """Enrolment of an authenticator app."""


class EnrolPasskey(_EnrolView, AddWebAuthnView):  # type: ignore[misc]
    """Enrolment of a passkey or security key."""


class RemovePasskey(RemoveWebAuthnView):  # type: ignore[misc]
    """Removal of a passkey or security key."""

    def form_valid(self, form: Any) -> HttpResponse:
        """Remove it, unless it is the last factor: allauth checks that only for an authenticator app."""
        adapter = get_adapter()
        if not adapter.can_delete_authenticator(self.get_object()):
            messages.error(self.request, adapter.error_messages["cannot_delete_authenticator"])
            return redirect("mfa_list_webauthn")
        response: HttpResponse = super().form_valid(form)
        return response
