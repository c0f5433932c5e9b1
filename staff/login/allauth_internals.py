"""All uses of allauth's internal names (docs/dependencies.md).

allauth does not count enrolment or a provider's factor as verification of one, stores a request that waits for a factor
with its whole META, where granian puts the process's secrets, limits no GET, and does not say when a limit ends; it has
no public way to change that.
tests/staff/login/test_allauth_internals.py fails where one of these names changes.
"""

import math
import time
from collections.abc import Callable
from typing import Any

from allauth.account.internal.flows.login import record_authentication
from allauth.account.internal.flows.reauthentication import STATE_SESSION_KEY
from allauth.core.internal.ratelimit import consume, get_cache_key, get_rates
from django.contrib.auth.models import AbstractBaseUser, AnonymousUser
from django.core.cache import cache
from django.http import HttpRequest, HttpResponseBase

Resume = Callable[[HttpRequest, dict[str, Any]], HttpResponseBase]


def record_factor(request: HttpRequest, user: AbstractBaseUser | AnonymousUser, method: str, **details: str) -> None:
    """Record in the session that the person has just authenticated by a method."""
    record_authentication(request, user, method, **details)


def keep_for_reauthentication(request: HttpRequest, resume: Resume, state: dict[str, Any]) -> None:
    """Have allauth call `resume`, a module's function, with the request and the state after the next verification."""
    request.session[STATE_SESSION_KEY] = {"callback": f"{resume.__module__}.{resume.__name__}", "state": state}


def take_kept(request: HttpRequest) -> dict[str, Any] | None:
    """Return the state that an earlier request stored, and drop it."""
    kept: dict[str, Any] | None = request.session.pop(STATE_SESSION_KEY, None)
    return kept and kept["state"]


def is_allowed(request: HttpRequest, action: str) -> bool:
    """Count a request, a GET too, and return whether the limit of the action (ACCOUNT_RATE_LIMITS) allows it."""
    return consume(request, app="allauth.account", action=action, limit_get=True) is not None


def seconds_until_allowed(request: HttpRequest, action: str, key: str) -> int:
    """Whole seconds until the limit of an action (ACCOUNT_RATE_LIMITS) allows one more; at least one."""
    app = "allauth.account"
    now = time.time()
    seconds = [1]
    for rate in get_rates(app=app, action=action):
        # Newest first.
        times: list[float] = cache.get(get_cache_key(request, app=app, action=action, rate=rate, key=key), [])
        if len(times) >= rate.amount:
            seconds.append(math.ceil(times[rate.amount - 1] + rate.duration - now))
    return max(seconds)


def factors_key(user: AbstractBaseUser | AnonymousUser) -> str:
    """The key of `login_failed` (ACCOUNT_RATE_LIMITS) for an account's codes and passkeys."""
    return f"mfa-auth-user-{user.pk}"
