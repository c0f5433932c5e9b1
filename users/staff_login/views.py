"""allauth's views, with what the staff login adds to them."""

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
    """Any other path of the login. Raises Http404; the admin would send strangers to log in first."""
    raise Http404


def change_password(request: HttpRequest) -> HttpResponseBase:
    """Changes one's own password. Raises Http404 for who has none: there is no page for setting a first one."""
    if not (isinstance(request.user, Staff) and request.user.has_usable_password()):
        raise Http404
    answer: HttpResponseBase = account.password_change(request)
    return answer


class EnrolTOTP(ActivateTOTPView):  # type: ignore[misc]
    """An authenticator app."""

    def form_valid(self, form: Any) -> HttpResponse:
        """Enrols, which counts as giving the factor."""
        answer: HttpResponse = super().form_valid(form)
        _enrolled(self.request, Authenticator.Type.TOTP, has_new_codes=self.did_generate_recovery_codes)
        return answer


class EnrolPasskey(AddWebAuthnView):  # type: ignore[misc]
    """A passkey or security key."""

    def form_valid(self, form: Any) -> HttpResponse:
        """Enrols, which counts as giving the factor."""
        answer: HttpResponse = super().form_valid(form)
        _enrolled(self.request, Authenticator.Type.WEBAUTHN, has_new_codes=self.did_generate_recovery_codes)
        return answer


class RemovePasskey(RemoveWebAuthnView):  # type: ignore[misc]
    """Taking a passkey or security key away."""

    def form_valid(self, form: Any) -> HttpResponse:
        """Removes it, unless the person needs it: allauth asks that of an authenticator app alone."""
        adapter = get_adapter()
        if not adapter.can_delete_authenticator(self.get_object()):
            messages.error(self.request, adapter.error_messages["cannot_delete_authenticator"])
            return redirect("mfa_list_webauthn")
        answer: HttpResponse = super().form_valid(form)
        return answer


def _enrolled(request: HttpRequest, kind: Authenticator.Type, *, has_new_codes: bool) -> None:
    factors.record_enrolment(request, kind)
    if has_new_codes:
        request.session[UNSEEN_CODES] = True
