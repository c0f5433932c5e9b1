"""Chromium in front of the live service on the test database: `make browser-test`.

A test asks for `page`, logs in with `login(page, role)` and goes to `server_url + "/admin/…"`. What it
makes by the factories is committed, for the service is another process: each test makes rows of its own.
"""

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from allauth.mfa.recovery_codes.internal.auth import RecoveryCodes
from allauth.mfa.totp.internal.auth import TOTP
from django.conf import settings as django_settings
from django.db import connections
from django.http import HttpRequest
from django.test import Client
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

from staff.login import factors
from staff.models import Staff
from tests import factories
from tests.browser.cases import client, empty_queue, register  # noqa: F401
from tests.slow.live.conftest import start_server
from tests.support.staff import TOTP_SECRET
from tests.support.timeouts import WAIT_SECONDS

PASSWORD = "correct horse battery staple"
SLOWEST_MILLISECONDS = WAIT_SECONDS * 1000
# Five seconds otherwise, which a busy machine may need for a password alone.
expect.set_options(timeout=SLOWEST_MILLISECONDS)

# Playwright runs an event loop in this thread, where Django would otherwise refuse to ask the database.
os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "true"


@pytest.fixture(scope="session")
def server_url(django_db_setup: None) -> Iterator[str]:
    """Where the service answers. `localhost`, because passkeys are for names and not for addresses."""
    server = start_server(
        DJANGO_SETTINGS_MODULE="tests.browser.server_settings",
        # Without it staff are sent to HTTPS, and passkeys are refused over anything else.
        DEBUG="true",
        STAFF_MFA_REQUIRED="true",
        OWNER_DATABASE_URL="",
        # A test may change what a session holds, such as when its factor was given.
        SECRET_KEY=django_settings.SECRET_KEY,
        ALLOWED_HOSTS="localhost,127.0.0.1",
        CSRF_TRUSTED_ORIGINS="",
        WEBHOOK_ALLOW_LOOPBACK="true",
    )
    yield f"http://localhost:{server.port}"
    server.process.terminate()
    server.process.wait(timeout=WAIT_SECONDS)


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """Debian's Chromium."""
    program = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if program is None:
        pytest.exit("There is no Chromium on the PATH: apt-get install chromium", returncode=1)
    with sync_playwright() as playwright:
        running = playwright.chromium.launch(
            executable_path=program,
            args=["--no-sandbox", "--disable-dev-shm-usage", "--host-resolver-rules=MAP localhost 127.0.0.1"],
        )
        yield running
        running.close()


@pytest.fixture(autouse=True)
def committing(django_db_setup: None, django_db_blocker: Any) -> Iterator[None]:
    """The database, without a transaction that would hide rows from the service."""
    with django_db_blocker.unblock():
        yield
        # Beside a running event loop Django keeps connections of its own, which nobody else would close.
        connections.close_all()


@pytest.fixture
def new_context(browser: Browser, server_url: str) -> Iterator[Callable[..., BrowserContext]]:
    """Opens browsers that share nothing: other people, or other windows. Options are Playwright's."""
    opened: list[BrowserContext] = []

    def open_one(**options: Any) -> BrowserContext:
        context = browser.new_context(**{"base_url": server_url, "viewport": {"width": 1280, "height": 900}} | options)
        context.set_default_timeout(SLOWEST_MILLISECONDS)
        opened.append(context)
        return context

    yield open_one
    for context in opened:
        context.close()


@pytest.fixture
def new_page(new_context: Callable[..., BrowserContext]) -> Callable[..., Page]:
    """Opens a page in a browser of its own, for tests with more than one person."""
    return lambda **options: new_context(**options).new_page()


@pytest.fixture
def page(new_page: Callable[..., Page]) -> Iterator[Page]:
    """A page in a browser of its own. What the page's policy forbids, or a script that fails, fails the test."""
    opened = new_page()
    failures: list[str] = []
    opened.on("pageerror", lambda error: failures.append(str(error)))
    opened.on("console", lambda said: failures.append(said.text) if "Content Security Policy" in said.text else None)
    yield opened
    assert not failures, failures


@pytest.fixture
def enrolled() -> Callable[[str], Staff]:
    """Makes somebody of a role (as in tests/support/staff.py) who has been here before: PASSWORD, and TOTP_SECRET."""

    def make(role: str) -> Staff:
        staff = factories.StaffFactory.create(role="viewer" if role == "superuser" else role)
        staff.is_superuser = role == "superuser"
        staff.set_password(PASSWORD)
        staff.save()
        TOTP.activate(staff, TOTP_SECRET)
        RecoveryCodes.activate(staff)
        return staff

    return make


@pytest.fixture
def login(enrolled: Callable[[str], Staff], server_url: str) -> Callable[..., Staff]:
    """Logs somebody of a role in on a page, who then is at `path`, as if they had just given password and code."""

    def do(page: Page, role: str, *, path: str = "/admin/") -> Staff:
        person = enrolled(role)
        page.context.add_cookies([{"name": "sessionid", "value": new_session(person), "url": server_url}])
        page.goto(path)
        return person

    return do


def new_session(person: Staff) -> str:
    """Begins a session of somebody who has just given password and code; returns its key."""
    signed_in = Client()
    signed_in.force_login(person)
    request = HttpRequest()
    request.user, request.session = person, signed_in.session
    factors.record(request, person, "totp")
    request.session.save()
    assert request.session.session_key
    return request.session.session_key


def give_password(page: Page, username: str, password: str) -> None:
    """Fills in the page for password and name."""
    page.get_by_label("Username").fill(username)
    page.get_by_label("Password").fill(password)
    page.get_by_role("button", name="Sign in", exact=True).click()


@pytest.fixture(scope="session")
def screenshots() -> Path:
    """Where pictures go: git ignores it."""
    folder = Path(__file__).parent.parent.parent / ".local" / "screenshots"
    folder.mkdir(parents=True, exist_ok=True)
    return folder
