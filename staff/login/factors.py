"""Second factors: their verification in a session, what waits for a fresh one, and the re-encryption of their secrets.

A fresh one, before the most sensitive actions such as issuing an API key or exporting data, protects against the use of
an open browser by somebody else. allauth's internal names (docs/dependencies.md): it has no public way to count
enrolment or a provider's factor as a verification, and stores a request that waits with its whole META, where granian
puts the process's secrets.
"""

import time
from typing import Any
from urllib.parse import unquote

from allauth.account.authentication import get_authentication_records
from allauth.account.internal.flows.login import record_authentication
from allauth.account.internal.flows.reauthentication import STATE_SESSION_KEY
from allauth.account.utils import get_next_redirect_url
from allauth.mfa.models import Authenticator
from django.conf import settings
from django.contrib.auth import REDIRECT_FIELD_NAME
from django.contrib.auth.models import AbstractBaseUser, AnonymousUser
from django.http import HttpRequest, HttpResponse, HttpResponseBase, QueryDict
from django.shortcuts import redirect, render
from django.urls import resolve, reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from core import encryption
from core.encryption import EncryptedColumn

# Recovery codes replace one of these, but are not a factor by themselves.
FACTORS = (Authenticator.Type.TOTP, Authenticator.Type.WEBAUTHN)
# The type of one that the company's provider has verified (staff/oidc).
OF_PROVIDER = "oidc"
FRESH_SECONDS = 15 * 60
# The session has the page that asked last, and how fresh a factor it needs.
ASKED = "fresh_factor"
# It has the POST of a download that a page starts.
_DOWNLOAD = "fresh_factor.download"
_METHOD = "mfa"


def record(request: HttpRequest, user: AbstractBaseUser | AnonymousUser, kind: str) -> None:
    """Record in the session that the person has just verified a second factor of this type."""
    record_authentication(request, user, _METHOD, type=kind)


def verified_at(request: HttpRequest) -> float | None:
    """The Unix time of the session's last verification of a second factor, or None. Passwords do not count."""
    records = get_authentication_records(request, request.user)
    return max((float(one["at"]) for one in records if one.get("method") == _METHOD), default=None)


def verification_page(request: HttpRequest) -> str:
    """The URL name of the page that asks for a second factor: of the kind that the session has, the provider's or ours.

    The page for codes accepts recovery codes too, which somebody with only a passkey should not use up.
    """
    if any(one.get("type") == OF_PROVIDER for one in get_authentication_records(request, request.user)):
        return "staff_oidc_confirm"
    has_codes = Authenticator.objects.filter(user_id=request.user.pk, type=Authenticator.Type.TOTP).exists()
    return "mfa_reauthenticate" if has_codes else "mfa_reauthenticate_webauthn"


def require_fresh_factor(
    request: HttpRequest, *, within: int = FRESH_SECONDS, download_back: str = ""
) -> HttpResponse | None:
    """None where a factor was verified within so many seconds; otherwise a redirect to the verification and back.

    A POST is stored, and executed after the verification. None while STAFF_MFA_REQUIRED is off.
    download_back: where the POST answers with a file, which leaves the browser on the page before: the address to which
    a page leads that starts the download.
    """
    at = verified_at(request)
    if not settings.STAFF_MFA_REQUIRED or (at is not None and 0 <= time.time() - at <= within):
        return None
    path = request.get_full_path()
    # Otherwise the POST of an earlier request could be executed.
    take_kept(request)
    if request.method == "POST":
        state = {"path": path, "post": request.POST.urlencode(), "at": time.time(), "back": download_back}
        request.session[STATE_SESSION_KEY] = {"callback": f"{__name__}.{resume.__name__}", "state": state}
    # The page that asks says so.
    request.session[ASKED] = {"path": path, "minutes": within // 60}
    return redirect(reverse(verification_page(request), query={REDIRECT_FIELD_NAME: path}))


def take_kept(request: HttpRequest) -> dict[str, Any] | None:
    """Return the POST that an earlier request stored, and drop it."""
    kept: dict[str, Any] | None = request.session.pop(STATE_SESSION_KEY, None)
    return kept and kept["state"]


def resume(request: HttpRequest, state: dict[str, Any], target: str | None = None) -> HttpResponseBase:
    """Execute the stored POST, if it is to `target`. allauth calls this function by the name stored in the session."""
    target = target or get_next_redirect_url(request)
    if target != state["path"] or time.time() - state["at"] > FRESH_SECONDS:
        # The person has moved on to another page.
        return redirect(target or "admin:index")
    if state["back"]:
        request.session[_DOWNLOAD] = state
        return redirect(reverse("staff_download", query={REDIRECT_FIELD_NAME: state["back"]}))
    path, _, query = state["path"].partition("?")
    path = unquote(path)
    request.method = "POST"
    request.path = request.path_info = path
    request.META["QUERY_STRING"] = query
    request.GET, request.POST = QueryDict(query), QueryDict(state["post"])
    request.resolver_match = match = resolve(path)
    response: HttpResponseBase = match.func(request, *match.args, **match.kwargs)
    return response


@never_cache
@require_safe
def begin_download(request: HttpRequest) -> HttpResponse:
    """Start the download that waited for a fresh factor, and lead back. A page that is loaded again starts none."""
    state = request.session.pop(_DOWNLOAD, None)
    if state is None or time.time() - state["at"] > FRESH_SECONDS:
        state = {"path": "", "post": ""}
    values = QueryDict(state["post"]).lists()
    # The page has a token of its own.
    fields = [(name, value) for name, several in values if name != "csrfmiddlewaretoken" for value in several]
    back = get_next_redirect_url(request) or reverse("admin:index")
    return render(request, "account/download.html", {"path": state["path"], "fields": fields, "back": back})


# The encrypted entry of Authenticator.data; a passkey has none.
_ENCRYPTED = {Authenticator.Type.TOTP: "secret", Authenticator.Type.RECOVERY_CODES: "seed"}


def _write(factor: Authenticator, text: str) -> None:
    factor.data[_ENCRYPTED[factor.type]] = text
    factor.save(update_fields=["data"])


SECOND_FACTORS = EncryptedColumn(
    "secondFactors",
    "Second factors",
    encryption.SECOND_FACTORS,
    # Using a recovery code locks the row too, so that none becomes unused again.
    rows=lambda: Authenticator.objects.filter(type__in=_ENCRYPTED).select_related("user"),
    read=lambda factor: factor.data[_ENCRYPTED[factor.type]],
    write=_write,
    label=lambda factor: f"{factor.get_type_display()} of {factor.user.get_username()}",
)
