"""What somebody is told after too many failed logins: for how long, in the message and in `Retry-After`."""

from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus

from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.utils.translation import ngettext

from staff.login.allauth_internals import seconds_until_allowed

CODE = "too_many_login_attempts"
_ATTRIBUTE = "staff_login_retry_after"
# The limits of allauth's views, such as `login`, are of so many seconds.
_VIEW_SECONDS = 60


def locked_out(request: HttpRequest, action: str, key: str) -> ValidationError:
    """The error of a form, which says for how long a limit of ACCOUNT_RATE_LIMITS refuses; its response is a 429."""
    seconds = seconds_until_allowed(request, action, key)
    setattr(request, _ATTRIBUTE, seconds)
    minutes = -(-seconds // 60)
    text = ngettext(
        "Too many failed login attempts. Try again in %(minutes)d minute.",
        "Too many failed login attempts. Try again in %(minutes)d minutes.",
        minutes,
    )
    return ValidationError(text % {"minutes": minutes}, code=CODE)


@contextmanager
def saying_when(request: HttpRequest, action: str, key: str) -> Iterator[None]:
    """Replace allauth's error of a limit by one that says for how long."""
    try:
        yield
    except ValidationError as error:
        if error.code != CODE:
            raise
        raise locked_out(request, action, key) from error


def mark_refused(request: HttpRequest, response: HttpResponseBase) -> None:
    """Make the response of a form that raised `locked_out` a 429 with Retry-After."""
    seconds = getattr(request, _ATTRIBUTE, None)
    if seconds is not None:
        response.status_code = HTTPStatus.TOO_MANY_REQUESTS.value
        response.headers["Retry-After"] = str(seconds)


def too_many_requests(request: HttpRequest) -> HttpResponse:
    """The response of allauth's views over their limits (`handler429` of config/urls.py)."""
    response = render(request, "429.html", status=HTTPStatus.TOO_MANY_REQUESTS.value)
    response.headers["Retry-After"] = str(_VIEW_SECONDS)
    return response
