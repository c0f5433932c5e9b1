"""Fixtures of all tests. Each test creates its own partner."""

import gc
import itertools
import secrets
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from datetime import time as datetime_time
from importlib import import_module
from pathlib import Path
from typing import Any
from urllib.parse import quote
from zoneinfo import ZoneInfo

import pytest
from django.conf import settings
from django.core.signals import request_finished, request_started
from django.db import connections
from django.utils import translation
from hypothesis import settings as hypothesis_settings

from partners.api import throttling
from partners.api.handler import begin_request, end_request
from partners.models import Mode, Partner
from staff.models import Staff
from tests import factories
from tests.support import database
from tests.support.client import PartnerClient, Response, Transport, in_process
from tests.support.kept_failures import pytest_terminal_summary  # noqa: F401 - a hook
from tests.support.timeouts import WAIT_SECONDS
from users.models import User

_numbers = itertools.count(1)

# How long an example takes depends on what else the machine does.
hypothesis_settings.register_profile("no deadline", deadline=None)
hypothesis_settings.load_profile("no deadline")


# Fixtures whose rows stay in the test database, until the file ends.
COMMITTING = {"committed_partner", "committed_sandbox", "seeded", "servers", "service", "proxy", "rows"}


# Folders of tests with a make target of their own.
APART = {"browser", "deploy", "examples", "failover", "fuzz", "generated", "lint", "long", "resilience", "slow"}


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Tests with a make target of their own (browser-test, resilience-test and the like) run where their path is asked
    for.
    """
    folder = collection_path.name
    apart = collection_path.parent == Path(__file__).parent and folder in APART
    return True if apart and not any(folder in argument for argument in config.args) else None


# Of `make test` and `make deploy-test`.
LONGEST = {"test_roles_table.py", "test_upgrade.py"}


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the files that take longest, so that the processes end together."""
    items.sort(key=lambda item: item.path.name not in LONGEST)


# Modules, tests and (in the process that starts the others) reports live until the end: the garbage collector need not
# look at them again and again.
gc.disable()


def pytest_collection_finish(session: pytest.Session) -> None:
    """Collect garbage from now on: that of tests. Not called in the process that starts the others."""
    gc.collect()
    gc.freeze()
    gc.enable()


@pytest.fixture(scope="module", autouse=True)
def nothing_committed_is_left(request: pytest.FixtureRequest) -> Iterator[None]:
    """Empty the tables after a file of tests that commits."""
    here = [item for item in request.session.items if item.path == request.path]
    if not any(COMMITTING.intersection(getattr(item, "fixturenames", ())) for item in here):
        yield
        return
    request.getfixturevalue("django_db_setup")
    yield
    database.empty()


@pytest.fixture(scope="session")
def django_db_setup(django_test_environment: None, django_db_blocker: pytest.FixtureRequest) -> Iterator[None]:
    """A test database for each process, migrated by the owner, used by the serving role."""
    # Views are imported with the first request: not while a test has put something else in a function's place.
    import_module(settings.ROOT_URLCONF)
    leave_connections_open()
    with django_db_blocker.unblock(), database.migrated_copy():  # type: ignore[attr-defined]
        yield


def leave_connections_open() -> None:
    """As Django's test client: the test's transaction must not lose its connection between requests."""
    # Which connects the receivers.
    import_module("config.wsgi")
    for signal, receiver in ((request_started, begin_request), (request_finished, end_request)):
        signal.disconnect(receiver)


@pytest.fixture(autouse=True)
def language_of_settings() -> None:
    """Reset the language."""
    translation.deactivate()


@pytest.fixture
def within_one_day() -> None:
    """Fix the date of the compliance time zone."""
    now = datetime.now(ZoneInfo(settings.COMPLIANCE_TIME_ZONE))
    midnight = datetime.combine(now.date() + timedelta(days=1), datetime_time(), now.tzinfo)
    if (left := (midnight.astimezone(UTC) - now).total_seconds()) < WAIT_SECONDS:
        time.sleep(left)


@pytest.fixture
def fresh_counter() -> Iterator[None]:
    """Fresh rate-limit counters, in the store of the test's settings."""
    throttling._counter.cache_clear()
    yield
    throttling._counter.cache_clear()


@pytest.fixture
def sandbox_partner(db: None) -> Partner:
    return factories.PartnerFactory.create(mode=Mode.SANDBOX)


@pytest.fixture
def sandbox(sandbox_partner: Partner, transport: Transport) -> PartnerClient:
    """A client of `sandbox_partner`, in the test's transaction."""
    return factories.client_of(sandbox_partner, transport)


@pytest.fixture
def partner(db: None) -> Partner:
    return factories.PartnerFactory.create(slug=f"partner-{next(_numbers)}")


@pytest.fixture
def transport() -> Transport:
    """The transport of clients in this process."""
    return in_process


@pytest.fixture
def api(partner: Partner, transport: Transport) -> PartnerClient:
    """A client of `partner`, in the test's transaction."""
    return factories.client_of(partner, transport)


@pytest.fixture
def other_api(db: None, transport: Transport) -> PartnerClient:
    """A client of another partner."""
    return factories.client_of(factories.PartnerFactory.create(slug=f"partner-{next(_numbers)}"), transport)


@pytest.fixture
def create_user(api: PartnerClient) -> Callable[..., Response]:
    """Create a user through the API; keyword arguments replace fields of the body."""

    def create(**fields: object) -> Response:
        response = api.post("/v1/users", factories.user_body(**fields))
        assert response.status == 201, response.body
        return response

    return create


@pytest.fixture
def committed_partner(django_db_setup: None, django_db_blocker: Any) -> Iterator[Partner]:
    """A committed partner, which other sessions see."""
    with django_db_blocker.unblock():
        yield factories.PartnerFactory.create(slug=f"committed-{secrets.token_hex(4)}")


@pytest.fixture
def user(create_user: Callable[..., Response]) -> User:
    """The user `ada` of `partner`."""
    user: User = User.objects.get(pk=create_user(externalId="ada").json()["userId"])
    return user


@pytest.fixture
def ada(user: User) -> User:
    return user


@pytest.fixture
def reviewer(db: None) -> Staff:
    staff: Staff = factories.StaffFactory.create(role="reviewer")
    return staff


def database_url(alias: str, role: str = "") -> str:
    """Return the URL of this process's test database. role: replaces the connection's."""
    given = connections[alias].settings_dict
    port = f"&port={given['PORT']}" if given["PORT"] else ""
    return f"postgresql://{role or given['USER']}@/{given['NAME']}?host={quote(given['HOST'])}{port}"
