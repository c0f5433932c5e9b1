"""Responses to internal failures: contract, section 1."""

from collections.abc import Callable
from itertools import product
from unittest.mock import Mock
from uuid import uuid4

import psycopg
import pytest
from django.db import connection, transaction
from psycopg.pq import ExecStatus
from psycopg.pq.abc import PGresult
from pytest_django.fixtures import Settings

from core.database.pipeline import Pipeline
from partners.api import middleware
from partners.models import Partner
from partners.monitoring import metrics
from tests import factories
from tests.support.client import PartnerClient, Response
from tests.support.responses import assert_error
from users.models import User


def crash(*_: object, **__: object) -> None:
    raise OSError("no room for Ada Byron, 100 King St W")


@pytest.mark.parametrize("debug", [False, True], ids=["", "debug"])
@pytest.mark.parametrize(
    "place",
    [
        "users.api.views.found",
        "partners.api.base.PartnerAPIView.initialize_request",
        "partners.api.base.PartnerAPIView.dispatch",
        "partners.api.middleware.get_resolver",
    ],
)
def test_an_exception_is_an_internal_error_without_details(
    api: PartnerClient,
    settings: Settings,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    place: str,
    *,
    debug: bool,
) -> None:
    settings.DEBUG = debug
    monkeypatch.setattr(place, crash)
    response = api.get("/v1/users/ada")
    assert assert_error(response, 500)["error"] == "internal_error"
    assert response.header("Cache-Control") == "no-store"
    assert not any(told in response.body for told in (b"Ada", b"OSError", b"profile", b".py"))
    assert "builtins.OSError" in caplog.text
    assert "King St" not in caplog.text


UNAVAILABLE = (
    psycopg.OperationalError,
    psycopg.InterfaceError,
    # As psycopg's cursors raise it where libpq lost the server amid a response.
    psycopg.DatabaseError,
    psycopg.errors.QueryCanceled,
    psycopg.errors.LockNotAvailable,
)
TARGETS = (("GET", "/v1/ping"), ("GET", "/v1/users/ada"), ("POST", "/v1/users"), ("PATCH", "/v1/users/ada"))


def test_without_the_database_the_service_is_unavailable(
    api: PartnerClient, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, subtests: pytest.Subtests
) -> None:
    for failure, (method, target) in product(UNAVAILABLE, TARGETS):
        failing = Mock(side_effect=failure("connection to 10.0.0.1 refused: SELECT secret"))
        with subtests.test(f"{failure.__name__} {method} {target}"):
            with monkeypatch.context() as broken:
                broken.setattr(psycopg.Cursor, "execute", failing)
                broken.setattr(Pipeline, "run", failing)
                response = api.send(method, target, {} if method != "GET" else None)
            assert assert_error(response, 503)["error"] == "internal_error"
            assert int(response.header("Retry-After") or 0) >= 1
            assert b"10.0.0.1" not in response.body
            assert "10.0.0.1" not in caplog.text


def test_a_broken_effect_leaves_nothing_behind(api: PartnerClient, monkeypatch: pytest.MonkeyPatch) -> None:
    def lose(*_: object) -> bytes:
        raise RuntimeError

    key, body = str(uuid4()), factories.user_body()
    with monkeypatch.context() as broken:
        # The last that the effect does before its response is written.
        broken.setattr("users.api.views.canonical_path", lose)
        assert_error(api.post("/v1/users", body, key=key), 500)
    assert not User.objects.exists()
    assert api.post("/v1/users", body, key=key).header("Idempotent-Replayed") is None


def test_a_database_that_only_reads_is_503_for_a_write(api: PartnerClient) -> None:
    assert api.get("/v1/ping").status == 200  # and the key's last use is recorded
    before = transaction.savepoint()
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL transaction_read_only = on")
    response = api.post("/v1/users", factories.user_body())
    transaction.savepoint_rollback(before)
    assert (response.status, response.json()["error"], response.header("Retry-After")) == (503, "internal_error", "2")


def test_an_error_of_libpq_itself_means_that_the_database_cannot_be_reached(
    api: PartnerClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It has no SQLSTATE, and the connection may still look open."""

    results = Pipeline._results

    def lose(pipeline: Pipeline) -> list[PGresult]:
        return [pipeline._pgconn.make_empty_result(ExecStatus.FATAL_ERROR) for _ in results(pipeline)]

    with monkeypatch.context() as broken:
        broken.setattr(Pipeline, "_results", lose)
        response = api.get("/v1/ping")
    assert assert_error(response, 503)["error"] == "internal_error"


def test_an_error_that_postgresql_names_is_not_taken_for_a_lost_connection(
    api: PartnerClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise psycopg.errors.UndefinedTable("no such table")

    monkeypatch.setattr(Pipeline, "run", fail)
    assert_error(api.get("/v1/ping"), 500)


@pytest.mark.parametrize("secret", [None, "another"], ids=["signed", "not signed"])
def test_a_query_that_is_not_utf_8_is_a_bad_request(api: PartnerClient, secret: str | None) -> None:
    for target in ("/v1/ping", "/v1/users/ada", "/v1/users/ada/transactions", "/v1/users/ada/documents"):
        assert_error(api.get(f"{target}?cursor=%FF", secret=secret), 400)


# Failures after the commit are logged and do not change a success into an error


BREAK: dict[str, Callable[[pytest.MonkeyPatch], object]] = {
    "metrics": lambda patch: patch.setattr(metrics, "count_request", crash),
    "the log line": lambda patch: patch.setattr(middleware, "_log_and_count", crash),
}
REQUESTS: dict[str, tuple[int, Callable[[PartnerClient, str], Response]]] = {
    "read": (200, lambda api, _: api.get("/v1/users/ada")),
    "create": (201, lambda api, key: api.post("/v1/users", factories.user_body(externalId="bob"), key=key)),
    "update": (200, lambda api, key: api.patch("/v1/users/ada", {"city": "Regina"}, key=key)),
}


@pytest.mark.usefixtures("ada")
@pytest.mark.parametrize("break_it", BREAK.values(), ids=BREAK)
@pytest.mark.parametrize(("status", "send"), REQUESTS.values(), ids=REQUESTS)
def test_a_success_stays_one_and_the_failure_is_logged(
    api: PartnerClient,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    status: int,
    send: Callable[[PartnerClient, str], Response],
    break_it: Callable[[pytest.MonkeyPatch], object],
) -> None:
    key = str(uuid4())
    break_it(monkeypatch)
    first = send(api, key)
    assert (first.status, bool(first.header("X-Request-Id"))) == (status, True)
    assert "builtins.OSError" in caplog.text
    assert "Ada" not in caplog.text
    again = send(api, key)
    assert (again.status, again.body) == (status, first.body)


@pytest.mark.usefixtures("ada")
def test_a_write_succeeds_where_nothing_at_all_can_be_logged(
    api: PartnerClient, partner: Partner, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = Mock(**{f"{level}.side_effect": OSError for level in ("info", "warning", "error", "exception")})
    monkeypatch.setattr(metrics, "count_request", crash)
    monkeypatch.setattr(middleware, "log", broken)
    response = api.patch("/v1/users/ada", {"city": "Regina"})
    assert response.status == 200
    assert broken.info.called
    assert broken.exception.called
    assert User.objects.get(partner=partner).city == "Regina"


@pytest.mark.usefixtures("ada")
@pytest.mark.parametrize("break_it", BREAK.values(), ids=BREAK)
def test_an_error_response_stays_the_same(
    api: PartnerClient, monkeypatch: pytest.MonkeyPatch, break_it: Callable[[pytest.MonkeyPatch], object]
) -> None:
    break_it(monkeypatch)
    assert api.get("/v1/users/nobody").status == 404
    assert api.post("/v1/users", {}).status == 400
