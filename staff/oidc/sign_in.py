"""The way to the company's provider and back, by GETs: the page's policy lets no form lead to another site."""

import secrets
import time
from http import HTTPStatus
from typing import Any

from allauth.account.utils import get_next_redirect_url
from allauth.core import ratelimit
from allauth.core.exceptions import ImmediateHttpResponse
from allauth.socialaccount.adapter import DefaultSocialAccountAdapter
from allauth.socialaccount.models import SocialLogin
from allauth.socialaccount.providers.base.constants import AuthProcess
from allauth.socialaccount.providers.oauth2.client import OAuth2Error
from allauth.socialaccount.providers.oauth2.views import OAuth2CallbackView
from django.conf import settings
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.utils.crypto import constant_time_compare
from django.utils.translation import gettext_lazy as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET
from requests import RequestException

from core.database.statements import set_context
from staff.login import factors
from staff.login.sign_ins import CONFIRMATION, DIRECTORY, PROVIDER, record_refusal
from staff.oidc import accounts
from staff.oidc.provider import CLOCK_SECONDS, OIDCAdapter, Provider, ProviderError

# The request has this attribute once the provider has confirmed the person of the session again.
_CONFIRMED = "staff_oidc_confirmed"
_TEXTS = {
    PROVIDER: _("The provider did not answer, or its answer could not be verified. Try again in a minute."),
    DIRECTORY: _("Your account there has no access to the back office. Ask an administrator."),
    CONFIRMATION: _("It was not you, or there was no second factor. Nothing was done."),
}


@never_cache
@require_GET
def sign_in(request: HttpRequest) -> HttpResponseBase:
    """Lead to the provider, also to confirm who is signed in. It counts here: an answer needs the state of one."""
    refused: HttpResponse | None = ratelimit.consume_or_429(request, action="provider", limit_get=True)
    if refused is not None:
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
        return _refuse_provider(request, error)
    return response


@never_cache
@require_GET
def callback(request: HttpRequest) -> HttpResponseBase:
    """Take the provider's answer. What waited for a fresh sign-in is executed now."""
    view = OAuth2CallbackView.adapter_view(OIDCAdapter(request, settings.STAFF_OIDC_ISSUER))
    response: HttpResponse = view(request)
    if getattr(request, _CONFIRMED, False) and (kept := factors.take_kept(request)):
        return factors.resume(request, kept, response.headers["Location"])
    return response


@never_cache
@require_GET
def confirm(request: HttpRequest) -> HttpResponse:
    """Say why the provider is asked again: what follows leaves the site."""
    context = {"provider": Provider(request).app.name, "next": get_next_redirect_url(request) or ""}
    return render(request, "account/oidc_confirm.html", context)


class SocialAccountAdapter(DefaultSocialAccountAdapter):  # type: ignore[misc]
    """The company's provider, and none from the database; no sign-up form."""

    def get_provider(self, request: HttpRequest, provider: str, client_id: str | None = None) -> Provider:
        """The one that the settings name."""
        return Provider(request)

    def on_authentication_error(
        self, request: HttpRequest, provider: Provider, error: Any = None, exception: Any = None, **_context: Any
    ) -> None:
        """Show the one page for whatever is wrong with the provider's answer, or with the browser's."""
        raise ImmediateHttpResponse(_refuse_provider(request, exception or error))

    def pre_social_login(self, request: HttpRequest, sociallogin: SocialLogin) -> None:
        """Find or make the account of somebody whom the provider has verified, or refuse them."""
        started = sociallogin.state["data"]
        try:
            _verify(started, sociallogin.id_token)
        except ProviderError as error:
            raise ImmediateHttpResponse(_refuse_provider(request, error)) from error
        # `amr` and `acr` say which factors the provider has verified.
        methods, level = sociallogin.id_token.get("amr"), sociallogin.id_token.get("acr")
        said = [*(methods if isinstance(methods, list) else []), level]
        has_factor = any(one in settings.STAFF_OIDC_MFA_VALUES for one in said)
        # Confirming makes no account, whatever person signed in there.
        if started["fresh"] and not (sociallogin.is_existing and sociallogin.user == request.user and has_factor):
            cause = "no second factor" if sociallogin.user == request.user else "another person"
            raise ImmediateHttpResponse(_refuse(request, CONFIRMATION, cause, request.user.get_username()))
        refused: accounts.SignInRefusedError | None = None
        with transaction.atomic():
            _act_as_directory(request)
            try:
                staff = sociallogin.user = accounts.account_of(request, sociallogin)
            except accounts.SignInRefusedError as error:
                refused = error
        if refused is not None:
            raise ImmediateHttpResponse(_refuse(request, DIRECTORY, refused.cause, refused.username))
        if started["fresh"]:
            factors.record(request, staff, factors.OF_PROVIDER)
            setattr(request, _CONFIRMED, True)
        else:
            sociallogin.has_second_factor = has_factor


def _act_as_directory(request: HttpRequest) -> None:
    set_context(operator=accounts.ACTOR, requestId=str(getattr(request, "request_id", "")))


def _verify(started: dict[str, Any], id_token: dict[str, Any]) -> None:
    """Raises ProviderError for another nonce, or for somebody who did not authenticate when asked to again."""
    if not constant_time_compare(str(id_token.get("nonce")), started["nonce"]):
        raise ProviderError("nonce")
    if started["fresh"]:
        at = id_token.get("auth_time")
        if not isinstance(at, int) or not started["at"] - CLOCK_SECONDS <= at <= time.time() + CLOCK_SECONDS:
            raise ProviderError("auth_time")


def _refuse_provider(request: HttpRequest, error: Any) -> HttpResponse:
    """Return the page for a provider that is away, or whose answer is wrong. The log has the kind of the error."""
    cause = str(error) if isinstance(error, ProviderError | str) else type(error).__name__
    because = getattr(error, "__cause__", None)
    return _refuse(request, PROVIDER, f"{cause}: {type(because).__name__}" if because else cause)


def _refuse(request: HttpRequest, kind: str, cause: str, username: str = "") -> HttpResponse:
    with transaction.atomic():
        _act_as_directory(request)
        record_refusal(request, kind, username, detail=cause)
    context = {"provider": settings.STAFF_OIDC_NAME, "text": _TEXTS[kind]}
    return render(request, "account/oidc_refused.html", context, status=HTTPStatus.FORBIDDEN)
