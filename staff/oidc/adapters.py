"""allauth's hooks of a sign-in with the company's account: who gets in, and the one page of refusals."""

import time
from http import HTTPStatus
from typing import Any

import structlog
from allauth.core.exceptions import ImmediateHttpResponse
from allauth.socialaccount.adapter import DefaultSocialAccountAdapter
from allauth.socialaccount.models import SocialLogin
from django.conf import settings
from django.core.cache import cache
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.crypto import constant_time_compare
from django.utils.translation import gettext_lazy as _

from core import audit
from core.database.history_context import set_context
from staff.login import factors, sign_ins
from staff.login.sign_ins import LOCK_OUT_SECONDS, client_address
from staff.oidc import accounts
from staff.oidc.provider import CLOCK_SECONDS, Provider, ProviderError

log = structlog.get_logger("staff.login")

# The request has this attribute once the provider has confirmed the person of the session again.
CONFIRMED = "staff_oidc_confirmed"

# The outcome of a refusal, by the metric's cause.
PROVIDER, DIRECTORY, CONFIRMATION = "provider", "directory", "confirmation"
_REFUSALS = {
    PROVIDER: sign_ins.PROVIDER_REFUSED,
    DIRECTORY: sign_ins.DIRECTORY_REFUSED,
    CONFIRMATION: sign_ins.CONFIRMATION_REFUSED,
}
_TEXTS = {
    PROVIDER: _("The provider did not answer, or its answer could not be verified. Try again in a minute."),
    DIRECTORY: _("Your account there has no access to the back office. Ask an administrator."),
    CONFIRMATION: _("It was not you, or there was no second factor. Nothing was done."),
}


class SocialAccountAdapter(DefaultSocialAccountAdapter):  # type: ignore[misc]
    """The company's provider, and none from the database; no sign-up form."""

    def get_provider(self, request: HttpRequest, provider: str, client_id: str | None = None) -> Provider:
        """The one that the settings name."""
        return Provider(request)

    def is_open_for_signup(self, request: HttpRequest, sociallogin: SocialLogin) -> bool:
        """False: `pre_social_login` makes the accounts."""
        return False

    def on_authentication_error(
        self, request: HttpRequest, provider: Provider, error: Any = None, exception: Any = None, **_context: Any
    ) -> None:
        """Show the one page for whatever is wrong with the provider's answer, or with the browser's."""
        raise ImmediateHttpResponse(refuse_provider(request, exception or error))

    def pre_social_login(self, request: HttpRequest, sociallogin: SocialLogin) -> None:
        """Find or make the account of somebody whom the provider has verified, or refuse them."""
        started = sociallogin.state["data"]
        try:
            _verify(started, sociallogin.id_token)
        except ProviderError as error:
            raise ImmediateHttpResponse(refuse_provider(request, error)) from error
        has_factor = _has_second_factor(sociallogin.id_token)
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
            factors.record_of_provider(request, staff)
            setattr(request, CONFIRMED, True)
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


def _has_second_factor(id_token: dict[str, Any]) -> bool:
    """Whether the provider says by `amr` or `acr` that it verified a second factor."""
    methods = id_token.get("amr")
    said = {
        one for one in [*(methods if isinstance(methods, list) else []), id_token.get("acr")] if isinstance(one, str)
    }
    return bool(said.intersection(settings.STAFF_OIDC_MFA_VALUES))


def refuse_provider(request: HttpRequest, error: Any) -> HttpResponse:
    """Return the page for a provider that is away, or whose answer is wrong. The log has the kind of the error."""
    cause = str(error) if isinstance(error, ProviderError | str) else type(error).__name__
    because = getattr(error, "__cause__", None)
    return _refuse(request, PROVIDER, f"{cause}: {type(because).__name__}" if because else cause)


def _refuse(request: HttpRequest, kind: str, cause: str, username: str = "") -> HttpResponse:
    from partners.monitoring import metrics  # noqa: PLC0415 - slow to start, and no command needs it

    log.warning("staff login failed", cause=kind, detail=cause)
    metrics.failed_logins.labels(kind).inc()
    address = client_address(request)
    # Anybody can ask for these without an account.
    if kind != PROVIDER or cache.add(f"oidc-refused:{address}", "1", LOCK_OUT_SECONDS):
        with transaction.atomic():
            _act_as_directory(request)
            audit.record(_REFUSALS[kind], object=username, detail={"cause": cause, "address": address or None})
    context = {"provider": settings.STAFF_OIDC_NAME, "text": _TEXTS[kind]}
    return render(request, "account/oidc_refused.html", context, status=HTTPStatus.FORBIDDEN)
