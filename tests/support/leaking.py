"""Personal data that must never be in a log, and requests that contain it."""

import re
import time
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote, urlencode

from django.conf import settings
from django.contrib.sessions.backends.db import SessionStore
from django.urls import URLPattern, URLResolver, get_resolver
from django.urls.resolvers import RoutePattern

from staff.models import Staff
from tests.slow.live.conftest import Server
from tests.support.client import Headers, Response

# Values of a user, a document, a member of staff, a query: none is a part of another, or of anything else.
PERSONAL = {
    "externalId": "Xtrn-8841-leak",
    "email": "zelda.quorn@leak-mail.com",
    "firstName": "Zeldaleak",
    "lastName": "Quornleak",
    "dateOfBirth": "1987-06-05",
    "addressLine1": "77 Leakstone Rd",
    "addressLine2": "Leakflat 9",
    "city": "Leakville",
    "occupation": "Leakologist",
}
TITLE, CONTENT, REASON, QUERY = "Leaktitle 2026", "Leakcontent", "Leakreason", "Leakquery"
PASSWORD, HOST, SLUG = "Leakpassword-77", "leakhost.example", "leak-nobody"
# A birth date as PostgreSQL and Python write it in the row that failed.
WRITTEN = ["datetime.date(1987, 6, 5)"]

MARKERS = [*PERSONAL.values(), TITLE, CONTENT, REASON, QUERY, PASSWORD, HOST, *WRITTEN]


def found_in(text: str, markers: Iterable[str]) -> list[str]:
    """Return the markers in a text, plain or percent-encoded."""
    return [marker for marker in markers if marker in text or quote(marker) in text]


def all_paths(known_id: str) -> Iterator[str]:
    """Yield a path of every route. known_id: an existing UUID."""
    for route in _routes(get_resolver().url_patterns):
        yield "/" + re.sub(
            r"<(?:(\w+):)?\w+>",
            lambda found: {"int": "1", "uuid": known_id}.get(found[1] or "str", quote(QUERY)),
            route,
        )


def _routes(patterns: Iterable[URLPattern | URLResolver], before: str = "") -> Iterator[str]:
    for one in patterns:
        if not isinstance(one.pattern, RoutePattern):
            continue  # the catch-all
        route = before + str(one.pattern)
        if isinstance(one, URLResolver):
            yield from _routes(one.url_patterns, route)
        else:
            yield route


class Browser:
    """A browser at a live server, with a superuser's session and second factor, or with none."""

    def __init__(self, server: Server, staff: Staff | None) -> None:
        self._server = server
        origin = f"https://127.0.0.1:{server.port}"
        self.session = _session(staff) if staff else "leaksession" * 3
        self.token = "Leakcsrf" * 4
        self._headers: Headers = {
            "X-Forwarded-Proto": "https",
            "Origin": origin,
            "Referer": f"{origin}/?{QUERY}",
            "Cookie": f"__Host-session={self.session}; __Host-csrf={self.token}",
        }

    def get(self, path: str) -> Response:
        return self._server.transport("GET", path, self._headers, b"")

    def post(self, path: str, fields: dict[str, Any]) -> Response:
        body = urlencode(fields | {"csrfmiddlewaretoken": self.token}).encode()
        sent = self._headers | {"Content-Type": "application/x-www-form-urlencoded"}
        return self._server.transport("POST", path, sent, body)


def _session(staff: Staff) -> str:
    now = time.time()
    session = SessionStore()
    session.update(
        {
            "_auth_user_id": str(staff.pk),
            "_auth_user_backend": settings.AUTHENTICATION_BACKENDS[0],
            "_auth_user_hash": staff.get_session_auth_hash(),
            "staff_login.started": now,
            "staff_login.active": now,
            "account_authentication_methods_user": str(staff.pk),
            "account_authentication_methods": [{"method": "mfa", "at": now, "type": "totp"}],
        }
    )
    session.create()
    return str(session.session_key)


def conversion_line(partner: str, **fields: Any) -> dict[str, Any]:
    """Return a line of an import for the user of the markers."""
    return {
        "partner": partner,
        "externalId": PERSONAL["externalId"],
        "conversionId": "cnv-1",
        "createdAt": datetime(2026, 1, 15, tzinfo=UTC).isoformat(),
        "type": "conversion",
        "from": {"currency": "CAD", "amount": "100.00"},
        "to": {"currency": "USD", "amount": "71.82"},
        "rate": "0.7182",
    } | fields
