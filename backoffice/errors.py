"""The page for a request that failed: Django's 500, or 503 where the database is why."""

import sys
from http import HTTPStatus

from django.http import HttpRequest, HttpResponse
from django.template import loader
from django.views import defaults

from core.database import errors

RETRY_SECONDS = 2


def server_error(request: HttpRequest) -> HttpResponse:
    """Django's handler500; called while the exception is handled, and not under /v1."""
    failure = sys.exc_info()[1]
    if failure is None or not errors.is_unreachable(failure):
        return defaults.server_error(request)
    page = loader.get_template("503.html").render()
    return HttpResponse(page, status=HTTPStatus.SERVICE_UNAVAILABLE, headers={"Retry-After": str(RETRY_SECONDS)})
