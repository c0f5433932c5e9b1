"""Whoever sends a body slowly holds a thread for a bounded time, and nobody else pays for it."""

import socket
import threading
import time
from collections.abc import Iterator

import pytest

from config.connections import BODY_SECONDS, LOOK_SECONDS
from partners.models import Partner
from tests import factories
from tests.client import PartnerClient
from tests.live.conftest import Server, serving
from tests.resilience.load import KeptConnection

HEAD = b"POST /v1/users HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Forwarded-Proto: https\r\nContent-Length: 1000\r\n\r\n"
# By when a thread that waits for a body is free again.
FREE_SECONDS = BODY_SECONDS + 2 * LOOK_SECONDS


@pytest.fixture(scope="module")
def server(django_db_setup: None) -> Iterator[Server]:
    with serving() as running:
        yield running


@pytest.fixture
def api(server: Server, partner: Partner) -> PartnerClient:
    return factories.client_of(partner, server.transport)


def begin(server: Server) -> socket.socket:
    """A request whose body does not come."""
    connection = socket.create_connection(("127.0.0.1", server.port), timeout=FREE_SECONDS + 5)
    connection.sendall(HEAD)
    return connection


def drip(connection: socket.socket, ended: threading.Event) -> None:
    while not ended.wait(0.2):
        try:
            connection.sendall(b" ")
        except OSError:
            return


@pytest.mark.parametrize("drips", [False, True], ids=["silent", "dripping"])
def test_a_body_that_takes_too_long_is_cut_off(server: Server, api: PartnerClient, *, drips: bool) -> None:
    kept = KeptConnection(server.port)
    over_kept = PartnerClient(api.api_key, api.secret, kept)
    assert over_kept.get("/v1/ping").status == 200
    ended, begun = threading.Event(), time.monotonic()
    # As many as there are threads.
    held = [begin(server), begin(server)]
    senders = [threading.Thread(target=drip, args=(connection, ended)) for connection in held if drips]
    for sender in senders:
        sender.start()
    time.sleep(1)  # until both have a thread
    # It waits for one, and is then answered as if nothing were.
    assert api.post("/v1/users", factories.user_body()).status == 201
    assert BODY_SECONDS - 1 < time.monotonic() - begun < FREE_SECONDS + 1
    answers = [connection.recv(65536) for connection in held]
    ended.set()
    for sender in senders:
        sender.join()
    for connection in held:
        connection.close()
    assert all(answer.startswith(b"HTTP/1.1 400 ") and b'"bad_request"' in answer for answer in answers)
    # A connection that was idle all the time is not taken for one of them.
    assert over_kept.get("/v1/ping").status == 200
    kept.close()
