"""An upgrade: the servers behind the proxy are replaced one by one, and no request is lost."""

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from http import HTTPStatus
from http.client import HTTPException
from pathlib import Path
from ssl import SSLSocket
from typing import Self

import pytest

from partners.models import Partner
from tests import factories
from tests.deploy.asking import ask, direct_transport, head, over_tls
from tests.deploy.proxy import NAME, Proxy, running
from tests.live.conftest import free_port, production
from tests.support.client import PartnerClient, Response
from tests.support.timeouts import WAIT_SECONDS
from users.models import User

ROOT = Path(__file__).parents[2]
SENDERS = 4
PAUSE_SECONDS = 0.02
# For requests to go to both.
BOTH_SECONDS = 2


@contextmanager
def server_on(port: int) -> Iterator[None]:
    """Run the service on this port."""
    where = os.environ | production(ALLOWED_HOSTS=NAME, PORT=str(port), INTERNAL_PORT="0")
    command = [sys.executable, "-m", "config.serve"]
    with subprocess.Popen(command, env=where, cwd=ROOT, stderr=subprocess.DEVNULL) as process:
        try:
            wait_for(port, process)
            yield
        finally:
            process.terminate()


def wait_for(port: int, process: subprocess.Popen[bytes]) -> None:
    """Wait for /readyz."""
    deadline = time.monotonic() + WAIT_SECONDS
    while True:
        try:
            direct_transport(port)("GET", "/v1/ping", {}, b"")
        except OSError:
            assert process.poll() is None, "the server has ended"
            assert time.monotonic() < deadline, "the server does not answer"
            time.sleep(0.05)
        else:
            return


class Senders:
    """Clients that create users through the proxy, over persistent connections, without retries."""

    def __init__(self, proxy: Proxy, client: PartnerClient) -> None:
        self.proxy, self.client = proxy, client
        self.ended = threading.Event()
        self.answers: list[Response] = []
        self.lost: list[str] = []
        self.threads = [threading.Thread(target=self.send) for _ in range(SENDERS)]

    def send(self) -> None:
        while not self.ended.is_set():
            with self.proxy.connected() as connection:
                while not self.ended.wait(PAUSE_SECONDS):
                    try:
                        answer = self.create(connection)
                    except (OSError, HTTPException) as error:
                        self.lost.append(repr(error))
                        break
                    self.answers.append(answer)
                    if answer.header("Connection") == "close":
                        break

    def create(self, connection: SSLSocket) -> Response:
        body = json.dumps(factories.user_body()).encode()
        signed = self.client.headers("POST", "/v1/users", body, key=None, timestamp=None, secret=None)
        return ask(connection, head("POST", "/v1/users", signed, body) + body, method="POST")

    def __enter__(self) -> Self:
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.ended.set()
        for thread in self.threads:
            thread.join()


@pytest.mark.usefixtures("django_db_setup")
def test_replacing_the_servers_one_by_one_loses_no_request(nginx: str, partner: Partner) -> None:
    ports = [free_port(), free_port()]
    with running(nginx, ports) as proxy:
        first, second = ExitStack(), ExitStack()
        with first, second:
            first.enter_context(server_on(ports[0]))
            second.enter_context(server_on(ports[1]))
            client = factories.client_of(partner, over_tls(proxy))
            with Senders(proxy, client) as senders:
                for stack, port in zip((first, second), ports, strict=True):
                    time.sleep(BOTH_SECONDS)
                    stack.close()
                    stack.enter_context(server_on(port))
                time.sleep(BOTH_SECONDS)
        refused = [line for line in proxy.access_log.splitlines() if json.loads(line)["status"] != HTTPStatus.CREATED]
    assert senders.lost == []
    # A connection that arrives in the moment before a port closes is reset (docs/operations.md).
    assert len(refused) <= 1, refused
    assert {json.loads(line)["status"] for line in refused} <= {HTTPStatus.SERVICE_UNAVAILABLE}
    created = [answer for answer in senders.answers if answer.status == HTTPStatus.CREATED]
    assert len(created) + len(refused) == len(senders.answers)
    assert len(senders.answers) > 100
    assert User.objects.filter(partner=partner).count() == len(created)
