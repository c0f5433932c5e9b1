"""Middlewares: the Content-Security-Policy of each path (docs/security.md), the time zone of the back office, and pages
of users who are erased meanwhile.
"""

from collections.abc import Callable
from zoneinfo import ZoneInfo

from django.conf import settings
from django.http import Http404, HttpRequest
from django.http.response import HttpResponseBase
from django.utils import timezone

from partners.db import statements
from users.models import User

HEADER = "Content-Security-Policy"
Policy = dict[str, str]

NOTHING: Policy = {"default-src": "'none'", "base-uri": "'none'", "form-action": "'none'", "frame-ancestors": "'none'"}
# Files of our own. The QR code of an authenticator app is a data: image.
OWN_FILES: Policy = NOTHING | {
    "script-src": "'self'",
    "style-src": "'self'",
    "img-src": "'self' data:",
    "font-src": "'self'",
    "connect-src": "'self'",
    "form-action": "'self'",
}
# Unfold's Alpine evaluates attributes, and Unfold sets the size of some elements by style="…".
BACK_OFFICE: Policy = OWN_FILES | {"script-src": "'self' 'unsafe-eval'", "style-src-attr": "'unsafe-inline'"}
# The pages of /docs: Furo has one inline script, one inline style and two style attributes, the same on each page.
DOCS: Policy = OWN_FILES | {
    "script-src": "'self' 'sha256-ySvT2PEZeueHGC1y2crNuNTfphBynFPP7i+U21fEgX0='",
    "style-src": "'self' 'sha256-XWNpikcIxBYLwa+33Jaxv/CNbA81IPMijMNljM4Yapo='",
    "style-src-attr": "'unsafe-hashes' 'sha256-biLFinpqYMtWHmXfkA1BPeCY0/fNt46SAZ+BBk5YUog='"
    " 'sha256-83NYGez0F0LlY/TNwRZh3Un4QbaPeFy2ne6VkVku4a4='",
}

# The first prefix of the path that matches applies.
POLICIES: tuple[tuple[str, Policy], ...] = (
    ("/admin/account/", OWN_FILES),
    ("/admin/", BACK_OFFICE),
    ("/docs", DOCS),
    ("", NOTHING),
)


class ContentSecurityPolicyMiddleware:
    """Sets the policy of the path, unless the view has set one."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """Handle the request."""
        response = self.get_response(request)
        policy = next(policy for prefix, policy in POLICIES if request.path.startswith(prefix))
        response.headers.setdefault(HEADER, "; ".join(f"{name} {sources}" for name, sources in policy.items()))
        return response


class TimeZoneMiddleware:
    """Shows and parses date-times in COMPLIANCE_TIME_ZONE; those of a streamed export stay in UTC."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """Handle the request in that time zone."""
        with timezone.override(ZoneInfo(settings.COMPLIANCE_TIME_ZONE)):
            return self.get_response(request)


class ErasedUserMiddleware:
    """Answers as for an unknown user where a view waited for an erasure and then found nobody."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """Handle the request."""
        return self.get_response(request)

    def process_exception(self, _request: HttpRequest, exception: Exception) -> None:
        """Raise Http404 for such an exception of a view."""
        if isinstance(exception, User.DoesNotExist) or statements.is_reference_gone(exception):
            raise Http404 from exception
