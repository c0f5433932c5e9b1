"""Expiry of sessions: after SESSION_COOKIE_AGE without a request, and in any case MAX_SECONDS after the login."""

import time
from typing import Any

from django.conf import settings
from django.contrib.sessions.backends.base import SessionBase
from django.contrib.sessions.models import Session
from django.http import HttpRequest
from django.utils import timezone

MAX_SECONDS = 12 * 60 * 60
# Activity is stored at most this often, so that not every page is a write. A session may expire so much early.
ACTIVITY_SECONDS = 60

_STARTED = "staff_login.started"
_ACTIVE = "staff_login.active"
_CSRF = "staff_login.csrf"


def start(request: HttpRequest, **_signal: Any) -> None:
    """Record the time of the login, and its CSRF secret. Receives Django's user_logged_in."""
    request.session[_STARTED] = request.session[_ACTIVE] = time.time()
    request.session[_CSRF] = request.META.get("CSRF_COOKIE")


def keep_csrf_secret(request: HttpRequest) -> None:
    """Let a page that another site's link opened use the session's CSRF secret.

    The browser does not send the CSRF cookie along with such a link, as it is Strict. A new secret would make the forms
    of the person's other tabs invalid.
    """
    is_link = request.method in {"GET", "HEAD"} and settings.CSRF_COOKIE_NAME not in request.COOKIES
    if is_link and (secret := request.session.get(_CSRF)):
        request.META["CSRF_COOKIE"] = secret


def is_expired(session: SessionBase) -> bool:
    """Whether a session has expired; true for one without a recorded login."""
    now = time.time()
    started: float = session.get(_STARTED, 0.0)
    active: float = session.get(_ACTIVE, 0.0)
    return now - started > MAX_SECONDS or now - active > settings.SESSION_COOKIE_AGE


def record_activity(session: SessionBase) -> None:
    """Record that the session is in use."""
    now = time.time()
    if now - session[_ACTIVE] > ACTIVITY_SECONDS:
        session[_ACTIVE] = now


def end_all(user_id: int) -> int:
    """End all sessions of a person; returns their number."""
    sessions = [
        session.pk
        for session in Session.objects.filter(expire_date__gt=timezone.now()).iterator()
        if session.get_decoded().get("_auth_user_id") == str(user_id)
    ]
    Session.objects.filter(pk__in=sessions).delete()
    return len(sessions)
