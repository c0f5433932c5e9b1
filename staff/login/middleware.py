"""The steps of the staff login: password, second factor and recovery codes come before any other page."""

from collections.abc import Callable
from typing import Any, NamedTuple

from django.conf import settings
from django.contrib import messages
from django.contrib.auth import REDIRECT_FIELD_NAME, logout
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.http import urlencode
from django.utils.translation import gettext as _

from core.database import history_context
from core.request_context import request_context
from staff.login import factors, invitations, lock_out, reauthentication, sessions
from staff.login.adapters import is_active_staff, may_use_password
from staff.models import Staff

# URL names (staff/urls.py).
RECOVERY_CODES = "mfa_view_recovery_codes"
ANONYMOUS_PAGES = {"account_login", "account_logout", "mfa_authenticate", "mfa_login_webauthn", invitations.PAGE}
ANONYMOUS_PAGES |= {"staff_oidc_login", "staff_oidc_callback"}
ALWAYS_ALLOWED = {"account_logout", "staff_logout", "set_language"}
ENROLMENT_PAGES = {"mfa_index", "mfa_activate_totp", "mfa_add_webauthn"}
VERIFICATION_PAGES = {"mfa_reauthenticate", "mfa_reauthenticate_webauthn"}
# Pages that change factors or show recovery codes; they need a fresh factor.
FACTOR_CHANGES = {
    "mfa_activate_totp",
    "mfa_deactivate_totp",
    "mfa_add_webauthn",
    "mfa_edit_webauthn",
    "mfa_remove_webauthn",
    "mfa_generate_recovery_codes",
    RECOVERY_CODES,
}

# The session has it until the person has seen new recovery codes.
UNSEEN_CODES = "staff_login.unseen_codes"


class Step(NamedTuple):
    """A step of the login. page: the URL name of its page. allowed: of the pages that are open in this step."""

    page: str
    allowed: set[str]


class StaffLoginMiddleware:
    """Redirects to the next step of the login until all are complete."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """Handle the request; `process_view` does the work. What is written meanwhile names the person."""
        with history_context.acting(requestId=_request_id(request)):
            response = self.get_response(request)
        lock_out.mark_refused(request, response)
        return response

    def process_view(
        self, request: HttpRequest, _view: Callable[..., Any], _args: Any, _kwargs: Any
    ) -> HttpResponse | None:
        """A redirect, or None where the person may use the view."""
        assert request.resolver_match is not None  # noqa: S101 - Django resolves before this
        page = request.resolver_match.view_name
        if not request.user.is_authenticated:
            if request.method == "POST" and not _is_account_page(page):
                messages.warning(request, _("Your session has ended: nothing was done. Sign in, then try again."))
            return _anonymous(page)
        request_context.staff = username = request.user.get_username()
        history_context.act_as(staff=username, requestId=_request_id(request))
        if sessions.is_expired(request.session) or not _may_go_on(request):
            return _log_out(request, page, _("Your session has ended. Sign in again."))
        if not is_active_staff(request.user):
            return _log_out(request, page, _("This account has no access to the back office."))
        sessions.record_activity(request.session)
        sessions.keep_csrf_secret(request)
        step = next_step(request, request.user)
        if step is not None and page not in step.allowed | ALWAYS_ALLOWED:
            return _redirect_to(step.page, request)
        if page == RECOVERY_CODES:
            request.session.pop(UNSEEN_CODES, None)
        if step is None and page in FACTOR_CHANGES:
            return reauthentication.require_fresh_factor(request)
        return None


def _may_go_on(request: HttpRequest) -> bool:
    """False for a session that began with a password or passkey, once STAFF_PASSWORD_LOGIN has become false."""
    staff = request.user
    return not is_active_staff(staff) or may_use_password(staff) or factors.began_by_provider(request)


def _request_id(request: HttpRequest) -> str:
    return str(getattr(request, "request_id", ""))


def next_step(request: HttpRequest, staff: Staff) -> Step | None:
    """The next step of the login; None where it is complete."""
    if staff.password_is_one_time and staff.has_usable_password():
        return Step("account_change_password", {"account_change_password"})
    if not settings.STAFF_MFA_REQUIRED:
        return None
    if factors.verified_at(request) is None:
        # An enrolled person verifies a factor in each session.
        if factors.has_factor(staff):
            return Step(factors.verification_page(request), VERIFICATION_PAGES)
        return Step("mfa_index", ENROLMENT_PAGES)
    if request.session.get(UNSEEN_CODES):
        return Step(RECOVERY_CODES, {RECOVERY_CODES})
    return None


def _anonymous(page: str) -> HttpResponse | None:
    # The admin redirects from its own pages; allauth's would store an anonymous POST, with the secrets in META.
    is_closed = _is_account_page(page) and page not in ANONYMOUS_PAGES | ALWAYS_ALLOWED
    return redirect("account_login") if is_closed else None


def _is_account_page(page: str) -> bool:
    return page.startswith(("account_", "mfa_", "staff_"))


def _log_out(request: HttpRequest, page: str, message: str) -> HttpResponse | None:
    logout(request)
    messages.warning(request, message)
    return _anonymous(page)


def _redirect_to(page: str, request: HttpRequest) -> HttpResponse:
    """A redirect to a page of the login, which leads on to the requested page if that was a GET."""
    query = {REDIRECT_FIELD_NAME: request.get_full_path()} if request.method == "GET" else {}
    return redirect(f"{reverse(page)}?{urlencode(query)}" if query else reverse(page))
