"""Content-Security-Policy, as strict as each path allows. docs/security.md says what forces the rest."""

from collections.abc import Callable

from django.http import HttpRequest
from django.http.response import HttpResponseBase

HEADER = "Content-Security-Policy"

# Each line of a policy, by its name; what is not named falls back to default-src.
Policy = dict[str, str]

NOTHING: Policy = {
    "default-src": "'none'",
    "base-uri": "'none'",
    "form-action": "'none'",
    "frame-ancestors": "'none'",
}
# Login and second factors: files of our own, and the QR code, which is a data: picture.
STAFF_LOGIN: Policy = NOTHING | {
    "script-src": "'self'",
    "style-src": "'self'",
    "img-src": "'self' data:",
    "font-src": "'self'",
    "connect-src": "'self'",
    "form-action": "'self'",
}
# Alpine, which Unfold's pages are made with, evaluates what stands in their attributes, and Unfold sizes
# some elements by style="…".
BACK_OFFICE: Policy = STAFF_LOGIN | {"script-src": "'self' 'unsafe-eval'", "style-src-attr": "'unsafe-inline'"}

# What partners' developers read: files of our own, and the doctor's question.
DOCS: Policy = NOTHING | {
    "script-src": "'self'",
    "style-src": "'self'",
    "img-src": "'self' data:",
    "font-src": "'self'",
    "connect-src": "'self'",
    "form-action": "'self'",
}

# The first that a path begins with holds.
POLICIES: tuple[tuple[str, Policy], ...] = (
    ("/admin/account/", STAFF_LOGIN),
    ("/admin/", BACK_OFFICE),
    ("/docs", DOCS),
    ("", NOTHING),
)


class ContentSecurityPolicyMiddleware:
    """Gives every answer the policy of its path, unless its view has set one."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """Answers the request."""
        response = self.get_response(request)
        response.headers.setdefault(HEADER, text(policy_of(request.path)))
        return response


def policy_of(path: str) -> Policy:
    """The policy of a path."""
    return next(policy for prefix, policy in POLICIES if path.startswith(prefix))


def text(policy: Policy) -> str:
    """A policy as the header has it."""
    return "; ".join(f"{name} {sources}" for name, sources in policy.items())
