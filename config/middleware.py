"""The middlewares that staff pages need, each passing partners' requests by.

They would cost a request under /v1 more than its own work, and none has a meaning there: no cookie,
no session, no form. Subclasses keep Django's names in the settings, where its checks look for them.
"""

from typing import Any

from django.contrib.auth import middleware as auth
from django.contrib.messages import middleware as messages
from django.contrib.sessions import middleware as sessions
from django.http import HttpRequest
from django.middleware import clickjacking, common, csrf, security
from whitenoise.middleware import WhiteNoiseMiddleware as WhiteNoise

from partners.api.middleware import is_api_path


class OutsideApi:
    """Mixin: a request under /v1 goes straight to the next middleware."""

    get_response: Any

    def __call__(self, request: HttpRequest) -> Any:
        """Runs the middleware, or leaves it out."""
        if is_api_path(request.path_info):
            return self.get_response(request)
        return super().__call__(request)  # type: ignore[misc]


class SecurityMiddleware(OutsideApi, security.SecurityMiddleware):
    """Django's, outside /v1."""


class WhiteNoiseMiddleware(OutsideApi, WhiteNoise):  # type: ignore[misc]
    """WhiteNoise's, outside /v1."""


class SessionMiddleware(OutsideApi, sessions.SessionMiddleware):
    """Django's, outside /v1."""


class CommonMiddleware(OutsideApi, common.CommonMiddleware):
    """Django's, outside /v1."""


class CsrfViewMiddleware(OutsideApi, csrf.CsrfViewMiddleware):
    """Django's, outside /v1."""


class AuthenticationMiddleware(OutsideApi, auth.AuthenticationMiddleware):
    """Django's, outside /v1."""


class MessageMiddleware(OutsideApi, messages.MessageMiddleware):
    """Django's, outside /v1."""


class XFrameOptionsMiddleware(OutsideApi, clickjacking.XFrameOptionsMiddleware):
    """Django's, outside /v1."""
