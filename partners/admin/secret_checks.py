"""Checks before the back office shows a secret; the layers above register theirs in AppConfig.ready()."""

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse

# None where all is well; otherwise the answer to give in place of the page.
Check = Callable[[HttpRequest], HttpResponse | None]

_checks: list[Check] = []


def register(check: Check) -> None:
    """Adds a check, once."""
    if check not in _checks:
        _checks.append(check)


def stop(request: HttpRequest) -> HttpResponse | None:
    """The answer of the first check that is not content, or None."""
    return next((answer for check in _checks if (answer := check(request)) is not None), None)
