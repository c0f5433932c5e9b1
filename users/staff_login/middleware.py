"""Login of staff: password, second factor and recovery codes come before any page for staff."""

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

from users.models import Staff
from users.staff_login import factors, reauthentication, sessions
from users.staff_login.adapters import may_enter

# By the names of their URLs (users/staff_login/urls.py).
CODES = "mfa_view_recovery_codes"
FOR_ANYBODY = {"account_login", "account_logout", "mfa_authenticate", "mfa_login_webauthn"}
ALWAYS = {"account_logout", "staff_logout", "set_language"}
ENROLMENT = {"mfa_index", "mfa_activate_totp", "mfa_add_webauthn"}
GIVING_A_FACTOR = {"mfa_reauthenticate", "mfa_reauthenticate_webauthn"}
# What changes factors, or shows codes that stand in for one.
CHANGING_FACTORS = {
    "mfa_activate_totp",
    "mfa_deactivate_totp",
    "mfa_add_webauthn",
    "mfa_edit_webauthn",
    "mfa_remove_webauthn",
    "mfa_generate_recovery_codes",
    CODES,
}

# In the session, while new recovery codes have not been looked at.
UNSEEN_CODES = "staff_login.unseen_codes"


class Step(NamedTuple):
    """What a person has to do before anything else. page: the name of the URL where they do it."""

    page: str
    allowed: set[str]


class StaffLoginMiddleware:
    """Redirects staff to the next step of the login, until all are done."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """Answers the request: once its URL is resolved, by `process_view`."""
        return self.get_response(request)

    def process_view(
        self, request: HttpRequest, _view: Callable[..., Any], _args: Any, _kwargs: Any
    ) -> HttpResponse | None:
        """None where the person may go on to the view; otherwise where they are sent."""
        assert request.resolver_match is not None  # noqa: S101 - Django resolves before this
        page = request.resolver_match.view_name
        if not request.user.is_authenticated:
            return self._stranger(request, page)
        if sessions.is_over(request.session):
            return self._out(request, page, _("Your session has ended. Sign in again."))
        if not isinstance(request.user, Staff) or not may_enter(request.user):
            return self._out(request, page, _("This account may not enter the back office."))
        sessions.note(request.session)
        step = next_step(request, request.user)
        if step is not None and page not in step.allowed | ALWAYS:
            return _to(step.page, request)
        if page == CODES:
            request.session.pop(UNSEEN_CODES, None)
        may_change = step is not None or page not in CHANGING_FACTORS
        return None if may_change else reauthentication.require_fresh_factor(request)

    def _stranger(self, request: HttpRequest, page: str) -> HttpResponse | None:
        # The admin's own pages look after themselves; allauth's would keep an anonymous POST, secrets of META included.
        is_account_page = page.startswith(("account_", "mfa_", "staff_"))
        return redirect("account_login") if is_account_page and page not in FOR_ANYBODY | ALWAYS else None

    def _out(self, request: HttpRequest, page: str, why: str) -> HttpResponse | None:
        logout(request)
        messages.warning(request, why)
        return self._stranger(request, page)


def next_step(request: HttpRequest, person: Staff) -> Step | None:
    """What the person has to do next; None where they are in."""
    if person.password_is_one_time and person.has_usable_password():
        return Step("account_change_password", {"account_change_password"})
    if not settings.STAFF_MFA_REQUIRED:
        return None
    if factors.given_at(request) is None:
        # That somebody enrolled does not make this session theirs: each one gives a factor of its own.
        if factors.has_factor(person):
            return Step(factors.page_to_give_one(person), GIVING_A_FACTOR)
        return Step("mfa_index", ENROLMENT)
    if request.session.get(UNSEEN_CODES):
        return Step(CODES, {CODES})
    return None


def _to(page: str, request: HttpRequest) -> HttpResponse:
    """To a page of the login, and afterwards to where the person wanted to go, if that can be gone to."""
    wanted = {REDIRECT_FIELD_NAME: request.get_full_path()} if request.method == "GET" else {}
    return redirect(f"{reverse(page)}?{urlencode(wanted)}" if wanted else reverse(page))
