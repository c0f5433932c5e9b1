"""Verification of a second factor before the most sensitive actions, such as issuing an API key or exporting data.

It protects against the use of an open browser by somebody else.
"""

import time
from typing import Any
from urllib.parse import unquote

from allauth.account.utils import get_next_redirect_url
from django.conf import settings
from django.contrib.auth import REDIRECT_FIELD_NAME
from django.http import HttpRequest, HttpResponse, HttpResponseBase, QueryDict
from django.shortcuts import redirect
from django.urls import resolve, reverse
from django.utils.http import urlencode

from staff.login import factors
from staff.login.allauth_internals import keep_for_reauthentication, take_kept

FRESH_SECONDS = 15 * 60
# The session has the page that asked last, and how fresh a factor it needs.
ASKED = "fresh_factor"
# It has the POST of a download that a page starts (staff_login.views.begin_download).
_DOWNLOAD = "fresh_factor.download"


def require_fresh_factor(
    request: HttpRequest, *, within: int = FRESH_SECONDS, download_back: str = ""
) -> HttpResponse | None:
    """None where a factor was verified within so many seconds; otherwise a redirect to the verification and back.

    A POST is stored, and executed after the verification. None while STAFF_MFA_REQUIRED is off.
    download_back: where the POST answers with a file, which leaves the browser on the page before: the address to which
    a page leads that starts the download.
    """
    if not settings.STAFF_MFA_REQUIRED or is_fresh(request, within=within):
        return None
    # Otherwise the POST of an earlier request could be executed.
    take_kept(request)
    if request.method == "POST":
        state = {
            "path": request.get_full_path(),
            "post": request.POST.urlencode(),
            "at": time.time(),
            "back": download_back,
        }
        keep_for_reauthentication(request, resume, state)
    # The page that asks says so.
    request.session[ASKED] = {"path": request.get_full_path(), "minutes": within // 60}
    query = urlencode({REDIRECT_FIELD_NAME: request.get_full_path()})
    return redirect(f"{reverse(factors.verification_page(request))}?{query}")


def is_fresh(request: HttpRequest, *, within: int = FRESH_SECONDS) -> bool:
    """Whether a second factor was verified in this session within so many seconds."""
    verified_at = factors.verified_at(request)
    return verified_at is not None and 0 <= time.time() - verified_at <= within


def resume(request: HttpRequest, state: dict[str, Any]) -> HttpResponseBase:
    """Execute the stored POST. allauth calls this function by the name stored in the session."""
    return _resume(request, state, get_next_redirect_url(request))


def resume_kept(request: HttpRequest, target: str) -> HttpResponseBase:
    """Execute the stored POST to `target`, if there is one; otherwise lead there. For a sign-in that is fresh."""
    state = take_kept(request)
    return _resume(request, state, target) if state else redirect(target)


def _resume(request: HttpRequest, state: dict[str, Any], target: str | None) -> HttpResponseBase:
    if target != state["path"] or time.time() - state["at"] > FRESH_SECONDS:
        # The person has moved on to another page.
        return redirect(target or "admin:index")
    if state["back"]:
        request.session[_DOWNLOAD] = state
        return redirect(reverse("staff_download", query={REDIRECT_FIELD_NAME: state["back"]}))
    path, _, query = state["path"].partition("?")
    path = unquote(path)
    request.method = "POST"
    request.path = request.path_info = path
    request.META["QUERY_STRING"] = query
    request.GET, request.POST = QueryDict(query), QueryDict(state["post"])
    request.resolver_match = match = resolve(path)
    response: HttpResponseBase = match.func(request, *match.args, **match.kwargs)
    return response


def take_download(request: HttpRequest) -> tuple[str, QueryDict] | None:
    """Return the address and the values of the POST that downloads, once: a page that is loaded again starts none."""
    state = request.session.pop(_DOWNLOAD, None)
    if state is None or time.time() - state["at"] > FRESH_SECONDS:
        return None
    values = QueryDict(state["post"], mutable=True)
    # The page has a token of its own.
    values.pop("csrfmiddlewaretoken", None)
    return state["path"], values
