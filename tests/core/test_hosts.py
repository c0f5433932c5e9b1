"""DATABASE_URL with several hosts."""

import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import psycopg
import pytest

from core.database import pipeline, serving_role
from core.database.pipeline import BoundedConnection
from tests.conftest import database_url


@contextmanager
def refusing() -> Iterator[int]:
    """Yield a port that refuses connections."""
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        yield unused.getsockname()[1]


@contextmanager
def silent() -> Iterator[int]:
    """Yield a port whose server says nothing."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


@pytest.fixture
def attempts(monkeypatch: pytest.MonkeyPatch) -> list[str | None]:
    """The ports of the attempts to connect."""
    made: list[str | None] = []
    connect = BoundedConnection.connect

    def noted(**parameters: Any) -> BoundedConnection:
        made.append(parameters["port"])
        return connect(**parameters)

    monkeypatch.setattr(BoundedConnection, "connect", noted)
    monkeypatch.setattr(pipeline, "_orders", {})
    return made


@pytest.fixture
def server(django_db_setup: None) -> dict[str, Any]:
    """The parameters of the tests' database, whose socket folder is its host."""
    return psycopg.conninfo.conninfo_to_dict(database_url(serving_role.SERVING), connect_timeout=2)


def after(server: dict[str, Any], *ports: int) -> dict[str, Any]:
    """The parameters for servers on these ports of this machine, and then the tests' database."""
    names = ["127.0.0.1"] * len(ports) + [server["host"]]
    return server | {"host": ",".join(names), "port": ",".join([*map(str, ports), str(server.get("port", ""))])}


def connect(parameters: dict[str, Any]) -> None:
    pipeline.connect(parameters).close()


def test_the_last_good_host_comes_first(server: dict[str, Any], attempts: list[str | None]) -> None:
    with refusing() as first, refusing() as second:
        hosts = after(server, first, second)
        connect(hosts)
        assert attempts[:-1] == [str(first), str(second)]
        good = attempts[-1]
        attempts.clear()
        connect(hosts)
    assert attempts == [good]


def test_an_attempt_waits_for_one_silent_host_and_the_next_goes_on_after_it(
    server: dict[str, Any], attempts: list[str | None]
) -> None:
    with silent() as first, refusing() as second:
        hosts = after(server, first, second)
        with pytest.raises(psycopg.OperationalError):
            connect(hosts)
        assert attempts == [str(first)]
        connect(hosts)
    assert attempts[1:-1] == [str(second)]


def test_if_no_host_accepts_the_last_error_is_raised_after_each_was_tried_once(
    server: dict[str, Any], attempts: list[str | None]
) -> None:
    with ExitStack() as stack:
        ports = [str(stack.enter_context(refusing())) for _ in range(3)]
        hosts = server | {"host": "127.0.0.1,127.0.0.1,127.0.0.1", "port": ",".join(ports)}
        with pytest.raises(psycopg.OperationalError, match="refused"):
            connect(hosts)
    assert attempts == ports


def test_a_host_that_only_reads_is_no_primary(server: dict[str, Any], attempts: list[str | None]) -> None:
    read_only = server | {"options": "-c default_transaction_read_only=on", "target_session_attrs": "read-write"}
    with pytest.raises(psycopg.OperationalError, match="read-only"):
        connect(after(read_only))


def test_one_port_is_that_of_all_hosts(attempts: list[str | None]) -> None:
    with refusing() as port, pytest.raises(psycopg.OperationalError):
        connect({"host": "127.0.0.1,localhost", "port": str(port)})
    assert attempts == [str(port)] * 2
