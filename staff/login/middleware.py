"""The steps of the staff login, before any other page, and its sessions' ends: SESSION_COOKIE_AGE, MAX_SECONDS."""

import time
from collections.abc import Callable
from typing import Any

from allauth.account.authentication import get_authentication_records
from allauth.mfa.models import Authenticator
from django.conf import settings
from django.contrib import messages
from django.contrib.auth import REDIRECT_FIELD_NAME, logout
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.translation import gettext as _

from core.database import statements
from core.request_context import request_context
from staff.login import factors
from staff.login.adapters import is_active_staff, may_use_password
from staff.login.sign_ins import ACTIVE, STARTED
from staff.models import Staff

MAX_SECONDS = 12 * 60 * 60
# Activity is stored at most this often, so that not every page is a write. A session may expire so much early.
ACTIVITY_SECONDS = 60

# URL names (staff/urls.py).
RECOVERY_CODES = "mfa_view_recovery_codes"
ANONYMOUS_PAGES = {"account_login", "account_logout", "mfa_authenticate", "mfa_login_webauthn", "staff_invitation"}
ANONYMOUS_PAGES |= {"staff_oidc_login", "staff_oidc_callback"}
ALWAYS_ALLOWED = {"account_logout", "staff_logout", "set_language"}
VERIFICATION_PAGES = {"mfa_reauthenticate", "mfa_reauthenticate_webauthn"}
# All others that are allauth's for factors change some or show recovery codes: they need a fresh factor.
OPEN_FACTOR_PAGES = VERIFICATION_PAGES | {"mfa_index", "mfa_list_webauthn", "mfa_authenticate", "mfa_login_webauthn"}
# Of each step of the login, by its page: the pages that are open in it.
STEPS = {
    "account_change_password": {"account_change_password"},
    "mfa_index": {"mfa_index", "mfa_activate_totp", "mfa_add_webauthn"},
    **dict.fromkeys(VERIFICATION_PAGES, VERIFICATION_PAGES),
    RECOVERY_CODES: {RECOVERY_CODES},
}
# The session has it until the person has seen new recovery codes.
UNSEEN_CODES = "staff_login.unseen_codes"


class StaffLoginMiddleware:
    """Redirects to the next step of the login until all are complete."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """Handle the request; `process_view` does the work. What is written meanwhile names the person."""
        with statements.acting(requestId=request_context.request_id or ""):
            return self.get_response(request)

    def process_view(
        self, request: HttpRequest, _view: Callable[..., Any], _args: Any, _kwargs: Any
    ) -> HttpResponse | None:
        """A redirect, or None where the person may use the view."""
        assert request.resolver_match is not None  # noqa: S101 - Django resolves before this
        page, staff, session = request.resolver_match.view_name, request.user, request.session
        if not staff.is_authenticated:
            if request.method == "POST" and not _is_account_page(page):
                messages.warning(request, _("Your session has ended: nothing was done. Sign in, then try again."))
            return _anonymous(page)
        request_context.staff = username = staff.get_username()
        statements.act_as(staff=username, requestId=request_context.request_id or "")
        if end := _end_of_session(request, staff):
            logout(request)
            messages.warning(request, end)
            return _anonymous(page)
        if time.time() - session[ACTIVE] > ACTIVITY_SECONDS:
            session[ACTIVE] = time.time()
        step = next_step(request, staff)
        if step and page not in STEPS[step] | ALWAYS_ALLOWED:
            # It leads on to the requested page if that was a GET.
            query = {REDIRECT_FIELD_NAME: request.get_full_path()} if request.method == "GET" else None
            return redirect(reverse(step, query=query))
        if page == RECOVERY_CODES:
            session.pop(UNSEEN_CODES, None)
        if not step and page.startswith("mfa_") and page not in OPEN_FACTOR_PAGES:
            return factors.require_fresh_factor(request)
        return None


def _end_of_session(request: HttpRequest, staff: Staff) -> str:
    """Why the person is signed out; empty where the session goes on."""
    if not is_active_staff(staff):
        return _("This account has no access to the back office.")
    now, started, active = time.time(), request.session.get(STARTED, 0.0), request.session.get(ACTIVE, 0.0)
    is_expired = now - started > MAX_SECONDS or now - active > settings.SESSION_COOKIE_AGE
    # One that began with a password or passkey ends once STAFF_PASSWORD_LOGIN has become false.
    records = get_authentication_records(request, staff)
    may_go_on = may_use_password(staff) or any(one.get("method") == "socialaccount" for one in records)
    return _("Your session has ended. Sign in again.") if is_expired or not may_go_on else ""


def next_step(request: HttpRequest, staff: Staff) -> str:
    """The page of the next step of the login, of STEPS; empty where it is complete."""
    if staff.password_is_one_time and staff.has_usable_password():
        return "account_change_password"
    if not settings.STAFF_MFA_REQUIRED:
        return ""
    if factors.verified_at(request) is None:
        # An enrolled person verifies a factor in each session.
        is_enrolled = Authenticator.objects.filter(user_id=staff.pk, type__in=factors.FACTORS).exists()
        return factors.verification_page(request) if is_enrolled else "mfa_index"
    return RECOVERY_CODES if request.session.get(UNSEEN_CODES) else ""


def _anonymous(page: str) -> HttpResponse | None:
    # The admin redirects from its own pages; allauth's would store an anonymous POST, with the secrets in META.
    is_closed = _is_account_page(page) and page not in ANONYMOUS_PAGES | ALWAYS_ALLOWED
    return redirect("account_login") if is_closed else None


def _is_account_page(page: str) -> bool:
    return page.startswith(("account_", "mfa_", "staff_"))
