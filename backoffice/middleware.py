"""Middlewares: the Content-Security-Policy of each path (docs/security.md), the time zone of the back office, and pages
of users who are erased meanwhile; and the page of an error.
"""

import sys
from collections.abc import Callable
from http import HTTPStatus
from uuid import UUID
from zoneinfo import ZoneInfo

from django.conf import settings
from django.contrib import admin
from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.template import loader
from django.utils import timezone
from django.utils.deprecation import MiddlewareMixin
from django.utils.translation import gettext as _
from django.views import defaults

from core.database import errors
from users.models import Erasure, User
from users.retention import erased_text

# The value of Retry-After while the database cannot be reached.
RETRY_SECONDS = 2
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


class ContentSecurityPolicyMiddleware(MiddlewareMixin):
    """Sets the policy of the path, unless the view has set one."""

    def process_response(self, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        policy = next(policy for prefix, policy in POLICIES if request.path.startswith(prefix))
        response.headers.setdefault(HEADER, "; ".join(f"{name} {sources}" for name, sources in policy.items()))
        return response


class TimeZoneMiddleware:
    """Shows and parses date-times in COMPLIANCE_TIME_ZONE; those of a streamed export stay in UTC."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        with timezone.override(ZoneInfo(settings.COMPLIANCE_TIME_ZONE)):
            return self.get_response(request)


class ErasedUserMiddleware(MiddlewareMixin):
    """Answers for a user who was erased, also while a view waited for it and then found nobody."""

    def process_exception(self, request: HttpRequest, exception: Exception) -> HttpResponse | None:
        """Say of the page of an erased user that it was erased; raise Http404 for others who are not there."""
        is_gone = isinstance(exception, User.DoesNotExist) or errors.is_reference_gone(exception)
        if not (is_gone or isinstance(exception, Http404)):
            return None
        user_id = request.resolver_match.kwargs.get("user_id") if request.resolver_match else None
        if isinstance(user_id, UUID) and request.user.has_perm("users.view_user"):
            erased = Erasure.objects.filter(pk=user_id).first()
            if erased is not None:
                context = {**admin.site.each_context(request), "title": _("Erased"), "text": erased_text(erased)}
                return render(request, "backoffice/retention/erased.html", context, status=HTTPStatus.NOT_FOUND)
        if is_gone:
            raise Http404 from exception
        return None


def server_error(request: HttpRequest) -> HttpResponse:
    """Django's handler500; called while the exception is handled, and not under /v1."""
    failure = sys.exc_info()[1]
    if failure is None or not errors.is_unreachable(failure):
        return defaults.server_error(request)
    page = loader.get_template("503.html").render()
    return HttpResponse(page, status=HTTPStatus.SERVICE_UNAVAILABLE, headers={"Retry-After": str(RETRY_SECONDS)})
