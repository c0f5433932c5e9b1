"""A second factor that was given just now: asked for before what would hurt most in the wrong hands.

The password is not enough, and neither is a factor from this morning: a browser that was left open
must not issue a key or carry data away.
"""

import time
from typing import Any

from allauth.account.utils import get_next_redirect_url
from django.conf import settings
from django.contrib.auth import REDIRECT_FIELD_NAME
from django.http import HttpRequest, HttpResponse, HttpResponseBase, QueryDict
from django.shortcuts import redirect
from django.urls import resolve, reverse
from django.utils.http import urlencode

from users.staff_login import factors
from users.staff_login.allauth_internals import forget_kept, keep_for_reauthentication

FRESH_SECONDS = 15 * 60


def require_fresh_factor(request: HttpRequest) -> HttpResponse | None:
    """None where a factor was given within FRESH_SECONDS; otherwise where to send the person, who then comes back.

    What a POST held is kept meanwhile, and done once the factor is given, so that nobody types it twice.
    While STAFF_MFA_REQUIRED is off, nothing is asked.
    """
    if not settings.STAFF_MFA_REQUIRED or is_fresh(request):
        return None
    # What an earlier request left is not done in place of this one.
    forget_kept(request)
    if request.method == "POST":
        state = {"path": request.path, "post": request.POST.urlencode(), "at": time.time()}
        keep_for_reauthentication(request, resume, state)
    where = {REDIRECT_FIELD_NAME: request.get_full_path()}
    return redirect(f"{reverse(factors.page_to_give_one(request.user))}?{urlencode(where)}")


def is_fresh(request: HttpRequest) -> bool:
    """Whether this session's person gave a second factor within FRESH_SECONDS."""
    given_at = factors.given_at(request)
    return given_at is not None and 0 <= time.time() - given_at <= FRESH_SECONDS


def resume(request: HttpRequest, state: dict[str, Any]) -> HttpResponseBase:
    """Does the POST that waited for the factor. allauth calls it by the name kept in the session."""
    wanted = get_next_redirect_url(request)
    if wanted != state["path"] or time.time() - state["at"] > FRESH_SECONDS:
        # The person has gone elsewhere meanwhile: nothing is done behind their back.
        return redirect(wanted or "admin:index")
    request.method = "POST"
    request.path = request.path_info = state["path"]
    request.POST = QueryDict(state["post"])
    request.resolver_match = match = resolve(state["path"])
    answer: HttpResponseBase = match.func(request, *match.args, **match.kwargs)
    return answer
