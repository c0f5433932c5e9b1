"""allauth's OpenID Connect provider, configured by STAFF_OIDC_*, and what it does not check itself.

allauth checks state, PKCE, issuer, audience and times of the ID token; a token that came over TLS it takes without its
signature, and it knows no nonce. Discovery and keys are fetched at each sign-in, so that the service starts while the
provider is away and a key may be replaced at any time.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from allauth.socialaccount.models import SocialApp, SocialLogin, SocialToken
from allauth.socialaccount.providers.oauth2.client import OAuth2Error
from allauth.socialaccount.providers.openid_connect.provider import OpenIDConnectProvider
from allauth.socialaccount.providers.openid_connect.views import OpenIDConnectOAuth2Adapter
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.http import HttpRequest
from django.urls import reverse
from requests import RequestException

_ENDPOINTS = ("authorization_endpoint", "token_endpoint", "jwks_uri", "userinfo_endpoint")


class ProviderError(OAuth2Error):  # type: ignore[misc]
    """An answer of the provider that is not what OpenID Connect says. Its text names the fault, and holds no value."""


@contextmanager
def _reading(what: str) -> Iterator[None]:
    """Raise ProviderError for data of another shape, such as a list in place of an object."""
    try:
        yield
    except RequestException:
        raise
    except (AttributeError, ImproperlyConfigured, KeyError, TypeError, ValueError) as error:
        raise ProviderError(what) from error


class OIDCAdapter(OpenIDConnectOAuth2Adapter):  # type: ignore[misc]
    """The exchange with the provider. Raises OAuth2Error and RequestException, which allauth turns into one page."""

    @property
    def openid_config(self) -> dict[str, Any]:
        """The provider's discovery document. Its issuer is ours, its endpoints are as safe as that."""
        with _reading("discovery"):
            config: dict[str, Any] = super().openid_config
            scheme = settings.STAFF_OIDC_ISSUER.partition(":")[0]
            is_right = all(config[name].startswith((f"{scheme}:", "https:")) for name in _ENDPOINTS)
            if config["issuer"] != settings.STAFF_OIDC_ISSUER or not is_right:
                raise ProviderError("issuer")
        return config

    def get_callback_url(self, request: HttpRequest, app: SocialApp) -> str:
        """Where the provider sends the browser back to; it is registered there."""
        return request.build_absolute_uri(reverse("staff_oidc_callback"))

    def get_access_token_data(self, *args: Any, **kwargs: Any) -> dict[str, Any]:
        """Exchange the code."""
        with _reading("token response"):
            data: dict[str, Any] = super().get_access_token_data(*args, **kwargs)
        # Otherwise allauth takes the ID token without its signature.
        self.did_fetch_access_token = False
        return data

    def complete_login(self, request: HttpRequest, app: SocialApp, token: SocialToken, **kwargs: Any) -> SocialLogin:
        """Return the person with verified claims, which are not stored: `id_token`, and both together as `claims`."""
        with _reading("ID token or userinfo"):
            login = super().complete_login(request, app, token, **kwargs)
            data, login.account.extra_data = login.account.extra_data, {}
            login.id_token = data["id_token"]
            login.claims = data["userinfo"] | data["id_token"]
            # allauth takes it from userinfo, which has no signature.
            if data["userinfo"]["sub"] != login.id_token["sub"] or not login.account.uid.isprintable():
                raise ProviderError("subject")
        return login


class Provider(OpenIDConnectProvider):  # type: ignore[misc]
    """The company's provider. Its accounts are kept by issuer and `sub`."""

    oauth2_adapter_class = OIDCAdapter

    def __init__(self, request: HttpRequest) -> None:
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

    def get_oauth2_adapter(self, request: HttpRequest) -> OIDCAdapter:
        """The exchange of this request."""
        return self._adapter

    def get_scope(self) -> list[str]:
        """allauth's, and the one that is named like the claim of the groups, where the provider has such a scope."""
        scopes: list[str] = super().get_scope()
        claim = settings.STAFF_OIDC_ROLES_CLAIM
        is_offered = settings.STAFF_OIDC_ROLES and claim in self._adapter.openid_config.get("scopes_supported", ())
        return [*scopes, claim] if is_offered else scopes
