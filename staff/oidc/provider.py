"""allauth's OpenID Connect provider, configured by STAFF_OIDC_*, and what it does not check itself.

allauth does the exchange, with state and PKCE. The ID token is verified here, by PyJWT: allauth takes one that came
over TLS without its signature, and knows neither nonce nor `azp`. Discovery and keys are fetched at each sign-in, so
that the service starts while the provider is away and a key may be replaced at any time.
"""

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import jwt
from allauth.socialaccount.adapter import get_adapter
from allauth.socialaccount.models import SocialApp, SocialLogin, SocialToken
from allauth.socialaccount.providers.oauth2.client import OAuth2Error
from allauth.socialaccount.providers.openid_connect.provider import OpenIDConnectProvider
from allauth.socialaccount.providers.openid_connect.views import OpenIDConnectOAuth2Adapter
from django.conf import settings
from django.core.checks import Error
from django.core.exceptions import ImproperlyConfigured
from django.http import Http404, HttpRequest
from django.urls import reverse
from requests import RequestException

from partners.checks import Found, installation_check

_ENDPOINTS = ("authorization_endpoint", "token_endpoint", "jwks_uri")
_USERINFO = "userinfo_endpoint"
# Signatures by a key of each type, where the key itself does not name its algorithm.
_ALGORITHMS = {
    "RSA": ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512"],
    "EC": ["ES256", "ES384", "ES512"],
    "OKP": ["EdDSA"],
}
UID_MAX_LENGTH = 191
# Between the provider's clock and ours.
CLOCK_SECONDS = 60


class ProviderError(OAuth2Error):  # type: ignore[misc]
    """An answer of the provider that is not what OpenID Connect says. Its text names the fault, and holds no value."""


@contextmanager
def _reading(what: str) -> Iterator[None]:
    """Raise ProviderError for data of another shape, such as a list in place of an object."""
    try:
        yield
    except RequestException:
        raise
    except (AttributeError, ImproperlyConfigured, KeyError, TypeError, ValueError, jwt.PyJWTError) as error:
        raise ProviderError(what) from error


class OIDCAdapter(OpenIDConnectOAuth2Adapter):  # type: ignore[misc]
    """The exchange with the provider. Raises OAuth2Error and RequestException, which allauth turns into one page."""

    @property
    def openid_config(self) -> dict[str, Any]:
        """The provider's discovery document. Its issuer is ours, its endpoints are as safe as that."""
        with _reading("discovery"):
            config: dict[str, Any] = super().openid_config
            scheme = settings.STAFF_OIDC_ISSUER.partition(":")[0]
            endpoints = [config[name] for name in _ENDPOINTS] + [config.get(_USERINFO, f"{scheme}:")]
            is_right = all(one.startswith((f"{scheme}:", "https:")) for one in endpoints)
            if config["issuer"] != settings.STAFF_OIDC_ISSUER or not is_right:
                raise ProviderError("issuer")
        return config

    @property
    def basic_auth(self) -> bool:
        """Whether the secret goes by HTTP Basic: where discovery says so, or nothing (OpenID Connect Discovery, 3)."""
        return "client_secret_post" not in self.openid_config.get("token_endpoint_auth_methods_supported", ())

    def get_callback_url(self, request: HttpRequest, app: SocialApp) -> str:
        """Where the provider sends the browser back to; it is registered there."""
        return request.build_absolute_uri(reverse("staff_oidc_callback"))

    def get_access_token_data(self, *args: Any, **kwargs: Any) -> dict[str, Any]:
        """Exchange the code."""
        with _reading("token response"):
            return super().get_access_token_data(*args, **kwargs)  # type: ignore[no-any-return]

    def complete_login(self, request: HttpRequest, app: SocialApp, token: SocialToken, **kwargs: Any) -> SocialLogin:
        """Return the person with verified claims, which are not stored: `id_token` and `userinfo`, {} without one."""
        app.settings["fetch_userinfo"] = _USERINFO in self.openid_config
        with _reading("ID token or userinfo"):
            login = super().complete_login(request, app, token, **kwargs)
            data, login.account.extra_data = login.account.extra_data, {}
            login.id_token, login.userinfo = data["id_token"], data.get("userinfo", {})
            # allauth takes it from userinfo, which has no signature.
            subject = login.id_token["sub"]
            if login.userinfo.get("sub", subject) != subject or not subject.isprintable():
                raise ProviderError("subject")
        return login

    def _decode_id_token(self, app: SocialApp, id_token: str) -> dict[str, Any]:
        """The claims of a token that is right (OpenID Connect Core, section 3.1.3.7). Raises ProviderError."""
        with get_adapter().get_requests_session() as session:
            response = session.get(self.openid_config["jwks_uri"])
            response.raise_for_status()
        with _reading("ID token"):
            key = _key(response.json()["keys"], jwt.get_unverified_header(id_token).get("kid"))
            claims: dict[str, Any] = jwt.decode(
                id_token,
                jwt.PyJWK(key).key,
                algorithms=[key["alg"]] if "alg" in key else _ALGORITHMS[key["kty"]],
                audience=app.client_id,
                issuer=settings.STAFF_OIDC_ISSUER,
                leeway=CLOCK_SECONDS,
                options={"require": ["exp", "iat", "sub", "aud", "iss"]},
            )
            # PyJWT takes a text for a number.
            if not isinstance(claims["exp"], int | float):
                raise ProviderError("exp")
            is_for_others_too = claims["aud"] not in (app.client_id, [app.client_id])
            if claims.get("azp", None if is_for_others_too else app.client_id) != app.client_id:
                raise ProviderError("azp")
        return claims


def _key(keys: list[dict[str, Any]], kid: str | None) -> dict[str, Any]:
    """Return the key of that name, or the only one, where it or the token has no name. Raises ProviderError."""
    signing = [key for key in keys if key.get("use", "sig") == "sig" and key.get("kty") in _ALGORITHMS]
    named = [key for key in signing if kid is not None and key.get("kid") == kid]
    if not named and len(signing) == 1 and (kid is None or "kid" not in signing[0]):
        named = signing
    if not named:
        raise ProviderError("key")
    return named[0]


class Provider(OpenIDConnectProvider):  # type: ignore[misc]
    """The company's provider. Its accounts are kept by issuer and `sub`."""

    def __init__(self, request: HttpRequest) -> None:
        """Raises Http404 where the settings name none."""
        if not settings.STAFF_OIDC_ISSUER:
            raise Http404
        app = SocialApp(
            provider=self.id,
            provider_id=settings.STAFF_OIDC_ISSUER,
            name=settings.STAFF_OIDC_NAME,
            client_id=settings.STAFF_OIDC_CLIENT_ID,
            secret=settings.STAFF_OIDC_CLIENT_SECRET,
            settings={"server_url": settings.STAFF_OIDC_ISSUER.rstrip("/") + "/.well-known/openid-configuration"}
            | {"oauth_pkce_enabled": True},
        )
        super().__init__(request, app=app)
        # One, which fetches discovery once.
        self._adapter = OIDCAdapter(request, settings.STAFF_OIDC_ISSUER)

    def extract_uid(self, data: dict[str, Any]) -> str:
        """Return the `sub`. It has up to 255 characters, and allauth's column 191: a hash of one that is too long."""
        subject: str = super().extract_uid(data)
        return subject if len(subject) <= UID_MAX_LENGTH else f"sha256:{hashlib.sha256(subject.encode()).hexdigest()}"

    def get_oauth2_adapter(self, request: HttpRequest) -> OIDCAdapter:
        """The exchange of this request."""
        return self._adapter

    def get_scope(self) -> list[str]:
        """allauth's, and the one that is named like the claim of the groups, where the provider has such a scope."""
        scopes: list[str] = super().get_scope()
        claim = settings.STAFF_OIDC_ROLES_CLAIM
        is_offered = settings.STAFF_OIDC_ROLES and claim in self._adapter.openid_config.get("scopes_supported", ())
        return [*scopes, claim] if is_offered else scopes


@installation_check
def check_provider() -> Found:
    """Whether the company's provider answers with its discovery document."""
    if not settings.STAFF_OIDC_ISSUER:
        return
    request = HttpRequest()
    try:
        _ = Provider(request).get_oauth2_adapter(request).openid_config
    except (OAuth2Error, RequestException) as error:
        text = f"The discovery document of STAFF_OIDC_ISSUER cannot be read ({type(error).__name__})."
        hint = "Check the issuer, and the way out to it; see docs/operations.md, “The company's provider is away”."
        yield Error(text, hint=hint, id="psi.E032")
