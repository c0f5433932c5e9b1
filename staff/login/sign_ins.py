"""Sign-ins, refused ones and sign-outs of staff, in the audit log; refused ones also in the log and the metrics."""

import time
from typing import Any

import structlog
from allauth.account.adapter import get_adapter
from django.core.cache import cache
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from core import audit
from staff.models import Staff

log = structlog.get_logger("staff.login")

SIGNED_IN = audit.register("signIn.succeeded", _("Signed in"))
EMERGENCY_SIGNED_IN = audit.register("signIn.emergency", _("Signed in with an emergency account"))
SIGNED_OUT = audit.register("signIn.ended", _("Signed out"))
PASSWORD_CHANGED = audit.register("staff.passwordChanged", _("Password changed"))
FACTOR_RESET = audit.register("staff.factorReset", _("Second factor reset"))
# By the company's provider (staff/oidc), which a command does not import.
ACCOUNT_FOUND = audit.register("directory.found", _("Invited account found by the directory"))
ACCOUNT_MADE = audit.register("directory.made", _("Account made by the directory"))
ROLES_SET = audit.register("directory.rolesSet", _("Roles set by the directory"))
# Causes of refusals; the last three are the provider's.
LIMIT, PROVIDER, DIRECTORY, CONFIRMATION = "limit", "provider", "directory", "confirmation"
REFUSALS = {
    "password": audit.register("signIn.refusedPassword", _("Sign-in refused: wrong password")),
    "code": audit.register("signIn.refusedCode", _("Sign-in refused: wrong code")),
    "passkey": audit.register("signIn.refusedPasskey", _("Sign-in refused: wrong passkey")),
    "account": audit.register("signIn.refusedAccount", _("Sign-in refused: account without access")),
    "passwordLogin": audit.register("signIn.refusedPasswordLogin", _("Sign-in refused: not by the provider")),
    LIMIT: audit.register("signIn.lockedOut", _("Sign-in locked after too many attempts")),
    PROVIDER: audit.register("signIn.refusedProvider", _("Sign-in refused: the provider's answer")),
    DIRECTORY: audit.register("signIn.refusedDirectory", _("Sign-in refused by the directory")),
    CONFIRMATION: audit.register("signIn.refusedConfirmation", _("Confirmation by the provider refused")),
}
# Of what anybody can cause without an account, an address adds one line in so much time.
QUIET_SECONDS = 60
# In the session, the times of the login and of the last request.
STARTED, ACTIVE = "staff_login.started", "staff_login.active"


def record_sign_in(request: HttpRequest, user: Staff, **_signal: Any) -> None:
    """Receive Django's user_logged_in: the session has the time. Of an emergency account also count and log it."""
    request.session[STARTED] = request.session[ACTIVE] = time.time()
    if user.is_emergency:
        from partners.monitoring import metrics  # noqa: PLC0415 - slow to start, and no command needs it

        log.warning("emergency account signed in", staff=user.pk)
        metrics.emergency_sign_ins.inc()
    _record(EMERGENCY_SIGNED_IN if user.is_emergency else SIGNED_IN, request, user.get_username())


def record_sign_out(request: HttpRequest, user: Staff | None, **_signal: Any) -> None:
    """Receive Django's user_logged_out."""
    if user is not None:
        _record(SIGNED_OUT, request, user.get_username())


def record_password_change(request: HttpRequest, user: Staff, **_signal: Any) -> None:
    """Receive allauth's password_changed: a person's own."""
    _record(PASSWORD_CHANGED, request, user.get_username())


def record_refusal(request: HttpRequest, cause: str, username: str, detail: str = "") -> None:
    """Log, count and record a refused sign-in. cause: of REFUSALS. username: as it was typed. detail: the provider's.

    What was typed for an unknown name is kept nowhere: it may be a password.
    """
    from partners.monitoring import metrics  # noqa: PLC0415 - slow to start, and no command needs it

    staff = Staff.objects.filter(username__iexact=username).first() if username else None
    said = {"detail": detail} if detail else {"staff": staff and staff.pk}
    log.warning("staff login failed", cause=cause, **said)
    metrics.failed_logins.labels(cause).inc()
    name, key = staff.get_username() if staff else "", f"refused:{cause}:{staff and staff.pk}:{_address(request)}"
    if cause not in {LIMIT, PROVIDER} or cache.add(key, "1", QUIET_SECONDS):
        _record(REFUSALS[cause], request, name, **({"cause": detail} if detail else {}))


def _record(action: str, request: HttpRequest, username: str, **detail: str) -> None:
    # With a cause, it is the directory that acts (staff/oidc).
    actor = {"staff": username} if username and not detail else {}
    audit.record(action, object=username, detail={**detail, "address": _address(request) or None}, context=actor)


def _address(request: HttpRequest) -> str:
    """The client's address, as the proxy gave it; empty where there is none."""
    try:
        return str(get_adapter(request).get_client_ip(request))
    except PermissionDenied:
        return ""
