"""allauth's views with the rules of the staff login."""

from typing import Any

from allauth.account import views as account
from allauth.mfa.adapter import get_adapter
from allauth.mfa.models import Authenticator
from allauth.mfa.totp.views import ActivateTOTPView
from allauth.mfa.webauthn.views import AddWebAuthnView, RemoveWebAuthnView
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect

from users.models import Staff
from users.staff_login import factors
from users.staff_login.middleware import UNSEEN_CODES


def nothing(_request: HttpRequest) -> HttpResponse:
    """Raise Http404, where the admin would redirect anonymous visitors to the login."""
    raise Http404


def change_password(request: HttpRequest) -> HttpResponseBase:
    """Change one's own password. Raises Http404 for accounts without one, which cannot set a first one."""
    if not (isinstance(request.user, Staff) and request.user.has_usable_password()):
        raise Http404
    response: HttpResponseBase = account.password_change(request)
    return response


class _EnrolView:
    """Counts enrolment as verification, and leads to the recovery codes where there are new ones."""

    kind: Authenticator.Type
    request: HttpRequest
    did_generate_recovery_codes: bool

    def form_valid(self, form: Any) -> HttpResponse:
        """Enrol the factor."""
        response: HttpResponse = super().form_valid(form)  # type: ignore[misc]
        factors.record_enrolment(self.request, self.kind)
        if self.did_generate_recovery_codes:
            self.request.session[UNSEEN_CODES] = True
        return response


class EnrolTOTP(_EnrolView, ActivateTOTPView):  # type: ignore[misc]
    """Enrolment of an authenticator app."""

    kind = Authenticator.Type.TOTP


class EnrolPasskey(_EnrolView, AddWebAuthnView):  # type: ignore[misc]
    """Enrolment of a passkey or security key."""

    kind = Authenticator.Type.WEBAUTHN


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
