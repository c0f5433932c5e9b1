"""The time zone of the back office: that of compliance, whatever the reader's browser or the server has."""

from collections.abc import Callable
from zoneinfo import ZoneInfo

from django.conf import settings
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.utils import timezone


class TimeZoneMiddleware:
    """Shows instants, and reads those that staff type, in COMPLIANCE_TIME_ZONE.

    An export is written after the response has left this middleware, so its instants stay in UTC.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """Answers the request."""
        with timezone.override(ZoneInfo(settings.COMPLIANCE_TIME_ZONE)):
            return self.get_response(request)
