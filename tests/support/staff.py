"""Browsers with logged-in staff."""

import base64
import hashlib
import hmac
import itertools
import re
import time
from collections.abc import Mapping
from html import unescape
from types import MethodType
from typing import Any

from django.contrib.messages.storage.cookie import CookieStorage
from django.contrib.sessions.backends.db import SessionStore
from django.test import Client, RequestFactory
from django.urls import resolve

from core.models import ActorKind, AuditEntry
from staff.models import Staff
from tests.factories import StaffFactory

_numbers = itertools.count(1)

ROLES = ("viewer", "reviewer", "auditor", "partner-manager", "administrator", "nobody", "superuser")


def client_of(staff: Staff, **options: bool) -> Client:
    """Return a browser with this user logged in."""
    client = Client(**options)  # type: ignore[arg-type]
    client.force_login(staff)
    return client


def client_as(role: str) -> Client:
    """Return a browser of a new staff member; `superuser`, `nobody` (no role) and `anonymous` are roles too."""
    if role == "anonymous":
        return Client()
    if role in {"superuser", "nobody"}:
        return client_of(
            Staff.objects.create(username=f"{role}-{next(_numbers)}", is_staff=True, is_superuser=role == "superuser")
        )
    return client_of(StaffFactory.create(role=role))


def sent_by(staff: Staff, request: Any) -> Any:
    """Make of a RequestFactory's request what middlewares pass to its view, `request.resolver_match`."""
    request.user, request.resolver_match = staff, resolve(request.path)
    request.session, request._messages = SessionStore(), CookieStorage(request)
    request._dont_enforce_csrf_checks = True
    return request


def called(request: Any) -> Any:
    """Return the response of the view itself, without its HTML where that is rendered later."""
    view = request.resolver_match
    return view.func(request, *view.args, **view.kwargs)


def _request(staff: Staff, address: str, query: Mapping[str, Any]) -> Any:
    return sent_by(staff, RequestFactory().get(address, query or None))


def context_of(staff: Staff, address: str, **query: Any) -> dict[str, Any]:
    """Return the context of a page as its view makes it, without its HTML. query: of the address."""
    context: dict[str, Any] = called(_request(staff, address, query)).context_data
    return context


def list_of(staff: Staff, address: str, **query: Any) -> Any:
    """Return a list's rows, order and filters as its view finds them, without the rest of the page.

    Raises IncorrectLookupParameters, after which the view redirects to `?e=1`.
    """
    request = _request(staff, address, query)
    view = request.resolver_match.func
    while not isinstance(view, MethodType):
        view = view.__wrapped__
    admin: Any = view.__self__
    return admin.get_changelist_instance(request)


def hidden_version(page: str, action: str) -> str:
    """Return the hidden version of a form. action: the end of the form's URL."""
    found = re.search(rf'action="[^"]*{action}".*?name="version"(?: value="([^"]*)")?', page.replace("\n", " "))
    assert found, f"There is no form for {action}."
    return unescape(found[1] or "")


def filled_in(page: Any) -> dict[str, Any]:
    """Return what a browser would send of the form of a row's page, with the values that the person saw."""
    values: dict[str, Any] = {}
    hidden = r'<input type="hidden" name="(initial-[^"]+)"(?: value="([^"]*)")?'
    for name, value in re.findall(hidden, page.content.decode()):
        values.setdefault(name, []).append(unescape(value))
    for field in page.context["adminform"].form:
        value = field.value()
        if value is not None and value is not False:
            values[field.html_name] = value
    return values


def words(html: str) -> str:
    """Return the text of HTML, without the names of icons."""
    without_icons = re.sub(r"<span[^>]*material-symbols-outlined.*?</span>", " ", html, flags=re.DOTALL)
    return " ".join(re.sub(r"<[^>]*>", " ", without_icons).split())


def staff_acts() -> list[str]:
    """Return what staff did to partners, keys and webhooks by requests, newest first, according to the audit log."""
    acts = AuditEntry.objects.filter(actor_kind=ActorKind.STAFF, detail__has_key="requestId")
    acts = acts.filter(action__regex="^(partner|apiKey|webhook)")
    return list(acts.order_by("-id").values_list("action", flat=True))


# TOTP codes (RFC 6238: SHA-1, six digits, thirty seconds)


TOTP_SECRET = "JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP"


def totp_code(secret: str = TOTP_SECRET, *, periods: int = 0) -> str:
    """Return the present code, or that of a later period."""
    counter = int(time.time()) // 30 + periods
    digest = hmac.digest(base64.b32decode(secret), counter.to_bytes(8), hashlib.sha1)
    offset = digest[-1] & 0x0F
    number = int.from_bytes(digest[offset : offset + 4]) & 0x7FFF_FFFF
    return f"{number % 1_000_000:06}"
