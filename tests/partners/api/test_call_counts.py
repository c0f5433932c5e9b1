"""How many calls, of Python's and of built-in functions, and modules of ours a request takes.

Time cannot be tested, calls can: some 0.5 µs each. They are the same on every machine with the same version of Python.
A bound is what is reached on 3.11, later ones take fewer; a change that needs more says so in its commit. The lines of
the log are not counted: their form depends on the settings.
"""

import gc
import logging
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from types import FrameType
from typing import Any
from uuid import uuid4

import pytest
from django.conf import settings
from django.core.cache import caches
from django.core.signals import request_finished, request_started
from django.db import reset_queries

from config import wsgi
from partners.api.handler import begin_request, end_request
from tests import factories
from tests.support.client import PartnerClient, Response, in_process
from users.models import User


class Counter:
    """The WSGI application; count, modules: the calls of its last request, and the files of the functions called."""

    def __init__(self, application: Any) -> None:
        self._application = application
        self.count = 0
        self.modules: set[str] = set()

    def __call__(self, environ: Any, start_response: Any) -> Any:
        """Handle a request."""
        self.count = 0
        self.modules = set()
        sys.setprofile(self._profile)
        try:
            return self._application(environ, start_response)
        finally:
            sys.setprofile(None)

    def _profile(self, frame: FrameType, event: str, _argument: object) -> None:
        self.count += event in {"call", "c_call"}
        self.modules.add(frame.f_code.co_filename)


@pytest.fixture
def counter(monkeypatch: pytest.MonkeyPatch) -> Iterator[Counter]:
    """The calls of the requests of this test."""
    counter = Counter(wsgi.application)
    # A test that counts statements has connected it again.
    request_started.disconnect(reset_queries)
    # As in the service, whatever other tests have left.
    receivers = ((request_started, begin_request), (request_finished, end_request))
    for signal, receiver in receivers:
        signal.connect(receiver)
    # Django closes each cache that the thread has used.
    for alias in caches:
        with suppress(AttributeError):
            del caches[alias]
    monkeypatch.setattr(wsgi, "application", counter)
    logging.disable(logging.CRITICAL)
    # Hypothesis, once used, is called at each collection.
    gc.disable()
    yield counter
    gc.enable()
    logging.disable(logging.NOTSET)
    for signal, receiver in receivers:
        signal.disconnect(receiver)


@pytest.fixture
def user(django_db_setup: None, django_db_blocker: Any) -> Iterator[User]:
    """A committed user with more than a page of conversions: savepoints would be counted too."""
    with django_db_blocker.unblock():
        user = factories.UserFactory.create(partner=factories.PartnerFactory.create(slug=f"calls-{uuid4()}"))
        factories.ConversionFactory.create_batch(26, user=user)
        yield user


def workloads(client: PartnerClient, user: User) -> Iterator[tuple[str, Callable[[], Response]]]:
    path = f"/v1/users/{user.external_id}"
    cities = iter(("Ottawa", "Toronto", "Ottawa", "Toronto"))
    yield "list", lambda: client.get(f"{path}/transactions")
    yield "update", lambda: client.patch(path, {"city": next(cities)}, key=str(uuid4()))
    yield "create", lambda: client.post("/v1/users", factories.user_body(externalId=str(uuid4())), key=str(uuid4()))


# The most calls and modules.
BOUNDS = {"list": (559, 21), "update": (1017, 27), "create": (1277, 27)}
PACKAGES = ("config", "core", "events", "partners", "sandbox", "staff", "transactions", "users")


def test_calls_and_modules_of_a_request(counter: Counter, user: User) -> None:
    client = factories.client_of(user.partner, in_process)
    ours = tuple(f"{settings.BASE_DIR / package}{os.sep}" for package in PACKAGES)
    counts = {}
    for name, send in workloads(client, user):
        for _ in range(3):
            assert send().status < 300
        counts[name] = counter.count, sum(path.startswith(ours) for path in counter.modules)
    for name, bounds in BOUNDS.items():
        assert all(count <= bound for count, bound in zip(counts[name], bounds, strict=True)), counts
