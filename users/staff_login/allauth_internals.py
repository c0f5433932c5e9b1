"""All uses of allauth's internal names (docs/dependencies.md).

allauth does not count enrolment as verification of the factor, and stores a request that waits for a factor with its
whole META, where granian puts the process's secrets; it has no public way to change either.
tests/users/staff_login/test_allauth_internals.py fails where one of these names changes.
"""

from collections.abc import Callable
from typing import Any

from allauth.account.internal.flows.login import record_authentication
from allauth.account.internal.flows.reauthentication import STATE_SESSION_KEY
from django.http import HttpRequest, HttpResponseBase

Resume = Callable[[HttpRequest, dict[str, Any]], HttpResponseBase]


def record_factor(request: HttpRequest, method: str, **details: str) -> None:
    """Record in the session that the person has just authenticated by a method."""
    record_authentication(request, request.user, method, **details)


def keep_for_reauthentication(request: HttpRequest, resume: Resume, state: dict[str, Any]) -> None:
    """Have allauth call `resume`, a module's function, with the request and the state after the next verification."""
    request.session[STATE_SESSION_KEY] = {"callback": f"{resume.__module__}.{resume.__name__}", "state": state}


def forget_kept(request: HttpRequest) -> None:
    """Drop the state that an earlier request stored."""
    request.session.pop(STATE_SESSION_KEY, None)
