"""Every address of the back office there is, by whatever app: what one forgets to guard is found here."""

import re
from collections.abc import Iterator
from typing import Any

import pytest
from django.contrib import admin
from django.contrib.auth.models import Group
from django.core.exceptions import PermissionDenied
from django.test import Client, RequestFactory
from django.urls import get_resolver, resolve, reverse
from django.utils.html import escape

from partners.models import ApiKey, Partner
from staff.models import Staff
from tests import factories
from tests.support.staff import called, client_as, client_of, sent_by
from users.models import User

# They ask for no permission: the start, the login, one's language, and what holds nothing of anybody.
FOR_ALL_STAFF = {
    "/admin/",
    "/admin/jsi18n/",
    "/admin/language/",
    "/admin/login/",
    "/admin/logout/",
    "/admin/password_change/",
    "/admin/password_change/done/",
}
NOT_THERE = {"/admin/search/", "/admin/autocomplete/", "/admin/r/1/1/"}
# The page of a user is the case.
NOT_THERE |= {"/admin/users/user/1/change/", "/admin/users/user/1/delete/"}
UNLOCKED = {"/admin/language/", "/admin/search/", "/admin/autocomplete/"}


def addresses(patterns: Any, before: str = "/") -> Iterator[str]:
    """All below /admin/ but the login's, with a 1 for each number and a user's id in {}."""
    for pattern in patterns:
        path = before + str(pattern.pattern)
        if hasattr(pattern, "url_patterns"):
            yield from addresses(pattern.url_patterns, path)
        elif path.startswith("/admin/") and not path.startswith("/admin/account/") and "(" not in path:
            yield re.sub("<.*?>", "1", re.sub("<uuid:.*?>", "{}", path))


PATHS = sorted(set(addresses(get_resolver().url_patterns)))


@pytest.mark.parametrize("method", ["get", "post"])
def test_staff_without_a_role_are_refused_everywhere(method: str, user: User, rf: RequestFactory) -> None:
    staff = Staff.objects.create(username="nobody", is_staff=True)
    paths = [path.format(user.pk) for path in PATHS if path not in FOR_ALL_STAFF | NOT_THERE]
    answers = {path: answer(getattr(rf, method)(path), staff) for path in paths}
    assert {path: to for path, to in answers.items() if to not in {"refused", *harmless(path, method)}} == {}
    # By the whole of the service, too.
    assert client_as("nobody").get("/admin/users/user/").status_code == 403


def answer(request: Any, staff: Staff) -> str:
    """What the view itself has for this account: "refused", or where it leads, or its status."""
    try:
        response = called(sent_by(staff, request))
    except PermissionDenied:
        return "refused"
    if response.status_code == 405:
        return "refused"
    return str(response.headers.get("Location", response.status_code))


def harmless(path: str, method: str) -> set[str]:
    """Where the admin's own ways may lead: to an old address of a row."""
    places = {f"{path}change/"}
    if method == "get" and re.search("/cases/.*(next|claim|release)/$", path):
        # These are of a POST alone; the queue itself refuses them.
        places.add("/admin/users/user/queue/")
    return places


@pytest.mark.parametrize("method", ["get", "post"])
def test_strangers_are_sent_to_the_login_everywhere(method: str, user: User) -> None:
    send = getattr(Client(), method)
    answers = {path: send(path.format(user.pk)) for path in PATHS if path not in UNLOCKED}
    places = {path: (one.status_code, one.headers.get("Location", "")) for path, one in answers.items()}
    login = re.compile("/admin/(account/)?(login|password)/")
    assert {path: to for path, to in places.items() if to[0] != 302 or not login.match(to[1])} == {}


def test_a_post_from_elsewhere_is_refused_everywhere(user: User) -> None:
    """As it has no CSRF token: Django's middleware asks for one but where a view says that it is exempt."""
    root = Staff.objects.create_superuser("root", password="a password of root")
    client = client_of(root, enforce_csrf_checks=True)
    assert client.post("/admin/language/", {"language": "fr"}).status_code == 403
    exempt = [path for path in PATHS if getattr(resolve(path.format(user.pk)).func, "csrf_exempt", False)]
    assert exempt == []


def test_what_nobody_uses_is_not_there(db: None) -> None:
    client = client_as("superuser")
    for path in NOT_THERE:
        assert client.get(path, {"s": "a"}).status_code == 404


def test_the_back_office_has_no_models_but_these() -> None:
    ours = {Staff, Group, Partner, ApiKey}
    read_only = {"User", "AuditEntry", "StatusChange", "UserEvent", "AccessRecord", "Conversion", "Document"}
    read_only |= {"Proposal", "FileEntry", "WebhookEndpoint", "WebhookDelivery"}
    assert {model.__name__ for model in admin.site._registry} == {model.__name__ for model in ours} | read_only


def test_nobody_makes_a_second_factor_a_colleagues(db: None) -> None:
    client = client_as("superuser")
    for path in ("/admin/mfa/authenticator/", "/admin/mfa/authenticator/add/", "/admin/account/emailaddress/"):
        assert client.get(path).status_code == 404


def test_no_parameter_leads_to_another_host(user: User) -> None:
    staff = factories.StaffFactory.create(role="reviewer")
    staff.set_password("correct horse battery")
    staff.save()
    given = {"login": staff.username, "password": "correct horse battery"}
    client = client_of(staff)
    found: dict[tuple[str, str], Any] = {}
    for to in (
        *("//evil.example/", "https://evil.example/", "/\\evil.example"),
        *("javascript:alert(1)", "http:///evil.example"),
    ):
        found |= {
            ("language", to): client.post("/admin/language/", {"next": to, "language": "fr"}),
            ("login when inside", to): client.get("/admin/account/login/", {"next": to}),
            ("the admin's login", to): client.get("/admin/login/", {"next": to}),
            ("next case", to): client.post("/admin/cases/next/", {"next": to, "back": to}),
            ("release", to): client.post(f"/admin/cases/{user.pk}/release/", {"next": to, "back": to, "view": to}),
            # Of others: this one stays inside.
            ("logout", to): client_of(staff).post("/admin/account/logout/", {"next": to}),
            ("login", to): Client().post("/admin/account/login/", given | {"next": to}),
        }
        download = client.get(reverse("staff_download"), {"next": to})
        assert (download.status_code, f'href="{escape(to)}"' in download.content.decode()) == (200, False), to
    assert {one.status_code for one in found.values()} <= {302, 403, 404}
    places = {way: one.headers.get("Location", "") for way, one in found.items()}
    assert {place for (way, _to), place in places.items() if way == "release"} == {"/admin/users/user/queue/"}
    assert {way: place for way, place in places.items() if re.match(r"(https?:|javascript:|/[/\\])", place)} == {}


def test_a_login_does_not_keep_the_session_that_somebody_planted(db: None) -> None:
    staff = factories.StaffFactory.create(role="reviewer")
    staff.set_password("correct horse battery")
    staff.save()
    client = Client()
    session = client.session
    session["planted"] = "yes"
    session.save()
    planted = session.session_key
    client.post("/admin/account/login/", {"login": staff.username, "password": "correct horse battery"})
    assert client.session["_auth_user_id"] == str(staff.pk)
    assert client.session.session_key != planted
    other = Client()
    other.cookies["sessionid"] = planted or ""
    assert other.get("/admin/users/user/queue/").status_code == 302


def test_no_part_of_a_query_is_logged(db: None, capsys: pytest.CaptureFixture[str]) -> None:
    client = client_as("viewer")
    queries = ("ada@example.com=1", "q=ada@example.com", "date_of_birth=ada@example.com", "p=ada@example.com")
    for query in queries:
        client.get(f"/admin/users/user/?{query}")
    client.get(f"/admin/users/user/queue/?{'&'.join(queries[1:])}")
    captured = capsys.readouterr()
    assert "ada@example.com" not in captured.out + captured.err
    assert "date_of_birth" not in captured.out + captured.err
