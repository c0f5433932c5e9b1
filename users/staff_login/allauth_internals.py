"""allauth's names that are not public: all that the service uses of them (docs/dependencies.md).

allauth counts a factor that is enrolled as none that was given, and keeps a request that waits for a factor with its
whole META, in which granian puts the process's secrets; it offers no public way to do either otherwise.
tests/users/staff_login/test_allauth_internals.py fails where one of these changes.
"""

from collections.abc import Callable
from typing import Any

from allauth.account.internal.flows.login import record_authentication
from allauth.account.internal.flows.reauthentication import STATE_SESSION_KEY
from django.http import HttpRequest, HttpResponseBase

Resume = Callable[[HttpRequest, dict[str, Any]], HttpResponseBase]


def record_factor(request: HttpRequest, method: str, **details: str) -> None:
    """Notes in the session that the person has authenticated by a method just now."""
    record_authentication(request, request.user, method, **details)


def keep_for_reauthentication(request: HttpRequest, resume: Resume, state: dict[str, Any]) -> None:
    """Has allauth call `resume`, a module's function, with the request and the state, once a factor is given."""
    request.session[STATE_SESSION_KEY] = {"callback": f"{resume.__module__}.{resume.__name__}", "state": state}


def forget_kept(request: HttpRequest) -> None:
    """Drops what an earlier request has kept."""
    request.session.pop(STATE_SESSION_KEY, None)
