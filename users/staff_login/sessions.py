"""Sessions that end: after SESSION_COOKIE_AGE without a request, and LONGEST_SECONDS after login in any case."""

import time
from typing import Any

from django.conf import settings
from django.contrib.sessions.backends.base import SessionBase
from django.contrib.sessions.models import Session
from django.http import HttpRequest
from django.utils import timezone

LONGEST_SECONDS = 12 * 60 * 60
# Written no more often, so that not every page is a write: a session can end that much early.
NOTED_EVERY_SECONDS = 60

_BEGAN = "staff_login.began"
_SEEN = "staff_login.seen"


def begin(request: HttpRequest, **_signal: Any) -> None:
    """Notes when a person came in. Receives Django's user_logged_in."""
    now = time.time()
    request.session[_BEGAN] = request.session[_SEEN] = now


def is_over(session: SessionBase) -> bool:
    """Whether a logged-in session has ended; one that does not say when it began has."""
    now = time.time()
    began: float = session.get(_BEGAN, 0.0)
    seen: float = session.get(_SEEN, 0.0)
    return now - began > LONGEST_SECONDS or now - seen > settings.SESSION_COOKIE_AGE


def note(session: SessionBase) -> None:
    """Notes that the session is in use."""
    now = time.time()
    if now - session[_SEEN] > NOTED_EVERY_SECONDS:
        session[_SEEN] = now


def end_all_of(person_id: int) -> int:
    """Ends every session of a person; how many there were."""
    theirs = [
        session.pk
        for session in Session.objects.filter(expire_date__gt=timezone.now()).iterator()
        if session.get_decoded().get("_auth_user_id") == str(person_id)
    ]
    Session.objects.filter(pk__in=theirs).delete()
    return len(theirs)
