"""The time zone of the back office."""

from collections.abc import Callable
from zoneinfo import ZoneInfo

from django.conf import settings
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.utils import timezone


class TimeZoneMiddleware:
    """Shows and parses date-times in COMPLIANCE_TIME_ZONE; those of a streamed export stay in UTC."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """Answer the request in that time zone."""
        with timezone.override(ZoneInfo(settings.COMPLIANCE_TIME_ZONE)):
            return self.get_response(request)
