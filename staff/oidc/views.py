"""The way to the company's provider and back. Both are GETs: the page's policy lets no form lead to another site."""

import secrets
import time
from collections.abc import Callable
from functools import wraps

from allauth.account.utils import get_next_redirect_url
from allauth.core import ratelimit
from allauth.socialaccount.providers.base.constants import AuthProcess
from allauth.socialaccount.providers.oauth2.client import OAuth2Error
from allauth.socialaccount.providers.oauth2.views import OAuth2CallbackView
from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET
from requests import RequestException

from staff.login import reauthentication
from staff.login.allauth_internals import is_allowed
from staff.oidc.adapters import CONFIRMED, refuse_provider
from staff.oidc.provider import OIDCAdapter, Provider

View = Callable[[HttpRequest], HttpResponseBase]


def _with_provider(view: View) -> View:
    """404 without a provider."""

    @wraps(view)
    def checked(request: HttpRequest) -> HttpResponseBase:
        if not settings.STAFF_OIDC_ISSUER:
            raise Http404
        return view(request)

    return never_cache(require_GET(checked))


@_with_provider
def sign_in(request: HttpRequest) -> HttpResponseBase:
    """Lead to the provider; where somebody is signed in, to confirm that they are still there.

    A sign-in counts here, once: the provider's answer is taken only with the state of a request to this view.
    """
    if not is_allowed(request, "provider"):
        refused: HttpResponse = ratelimit.respond_429(request)
        return refused
    is_fresh = request.user.is_authenticated
    data = {"nonce": secrets.token_urlsafe(16), "fresh": is_fresh, "at": int(time.time())}
    params = {"nonce": data["nonce"]} | ({"prompt": "login", "max_age": "0"} if is_fresh else {})
    try:
        response: HttpResponse = Provider(request).redirect(
            request,
            # allauth's login would end the session first.
            AuthProcess.REDIRECT if is_fresh else AuthProcess.LOGIN,
            next_url=get_next_redirect_url(request),
            data=data,
            auth_params=params,
        )
    except (OAuth2Error, RequestException) as error:
        return refuse_provider(request, error)
    return response


@_with_provider
def callback(request: HttpRequest) -> HttpResponseBase:
    """Take the provider's answer. What waited for a fresh sign-in is executed now."""
    view = OAuth2CallbackView.adapter_view(OIDCAdapter(request, settings.STAFF_OIDC_ISSUER))
    response: HttpResponse = view(request)
    if getattr(request, CONFIRMED, False):
        return reauthentication.resume_kept(request, response.headers["Location"])
    return response


@_with_provider
def confirm(request: HttpRequest) -> HttpResponse:
    """Say why the provider is asked again: what follows leaves the site."""
    context = {"provider": settings.STAFF_OIDC_NAME, "next": get_next_redirect_url(request) or ""}
    return render(request, "account/oidc_confirm.html", context)
