"""Load: partners' programs that read and write over persistent connections, and repeat nothing by themselves."""

import http.client
import json
import socket
import threading
import time
import uuid
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import psycopg

from tests import factories
from tests.support.client import Headers, PartnerClient, Response
from tests.support.timeouts import WAIT_SECONDS


class Request(NamedTuple):
    """A request. key: the Idempotency-Key of a write."""

    method: str
    target: str
    body: dict[str, Any] | None = None
    key: str | None = None


# Makes the next request of one client, by its number.
Maker = Callable[[int], Request]
# Opens a connection of one client, by its number.
Connect = Callable[[int], socket.socket]


def mixed(number: int) -> Request:
    """Return a create, a read, a page or an update, by the client's number."""
    key = str(uuid.uuid4())
    requests = (
        Request("POST", "/v1/users", factories.user_body(), key),
        Request("GET", "/v1/ping"),
        Request("GET", "/v1/users/ada/transactions"),
        Request("PATCH", "/v1/users/ada", {"city": f"City {key}"}, key),
    )
    return requests[number % 4]


def to_port(port: int) -> Connect:
    """Return what connects clients to a port of this machine."""
    return lambda _number: socket.create_connection(("127.0.0.1", port), timeout=WAIT_SECONDS)


class KeptConnection:
    """A transport over one connection, reopened only after a response that closed it, or a failure."""

    def __init__(self, connect: Callable[[], socket.socket], host: str = "127.0.0.1") -> None:
        self._connection = http.client.HTTPConnection(host)
        self._connection.connect = lambda: setattr(self._connection, "sock", connect())  # type: ignore[method-assign]

    def __call__(self, method: str, target: str, headers: Headers, body: bytes) -> Response:
        try:
            self._connection.request(method, target, body or None, headers)
            response = self._connection.getresponse()
            return Response(response.status, dict(response.getheaders()), response.read())
        except (OSError, http.client.HTTPException):
            self._connection.close()
            raise

    def close(self) -> None:
        self._connection.close()


@dataclass
class Tally:
    """What clients got. done, unsure: writes with a good response, and without one."""

    statuses: Counter[int] = field(default_factory=Counter)
    # By method and status, or error.
    refused: Counter[str] = field(default_factory=Counter)
    failures: Counter[str] = field(default_factory=Counter)
    # Not one of the contract's responses.
    malformed: list[bytes] = field(default_factory=list)
    # Seconds.
    slowest: float = 0.0
    done: list[Request] = field(default_factory=list)
    unsure: list[Request] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def responses(self) -> int:
        return self.statuses.total()

    @property
    def ended(self) -> int:
        """Requests that have a response, or failed."""
        return self.responses + self.failures.total()

    def __str__(self) -> str:
        return f"{dict(self.statuses)}, failed {dict(self.refused + self.failures)}, slowest {self.slowest:.2f} s"

    def note(self, request: Request, result: Response | Exception, seconds: float) -> None:
        """Count a request."""
        with self._lock:
            self.slowest = max(self.slowest, seconds)
            if isinstance(result, Exception):
                self.failures[f"{request.method} {type(result).__name__}"] += 1
            else:
                self.statuses[result.status] += 1
                if result.status >= 400:
                    self.refused[f"{request.method} {result.status}"] += 1
                    self.malformed += [] if _is_an_error(result) else [result.body]
            if request.key:
                is_done = isinstance(result, Response) and result.status in {200, 201}
                (self.done if is_done else self.unsure).append(request)


def _is_an_error(response: Response) -> bool:
    members, names = {"error", "message", "requestId"}, ["X-Request-Id"] + ["Retry-After"] * (response.status == 503)
    return set(json.loads(response.body)) == members and all(map(response.header, names))


@contextmanager
def load(
    api: PartnerClient,
    connect: Connect,
    make: Maker = mixed,
    *,
    clients: int = 8,
    pause: float = 0.0,
    host: str = "127.0.0.1",
) -> Iterator[Tally]:
    """Run clients during the block; the tally is complete after it. pause: seconds between two requests of a client."""
    tally, ended = Tally(), threading.Event()

    def run(number: int) -> None:
        connection = KeptConnection(lambda: connect(number), host)
        client = PartnerClient(api.api_key, api.secret, connection)
        while not ended.is_set():
            request, begun = make(number), time.monotonic()
            result: Response | Exception
            try:
                result = client.send(request.method, request.target, request.body, key=request.key)
            except (OSError, http.client.HTTPException) as error:
                result = error
            tally.note(request, result, time.monotonic() - begun)
            ended.wait(pause)
        connection.close()

    threads = [threading.Thread(target=run, args=(number,)) for number in range(clients)]
    for thread in threads:
        thread.start()
    try:
        yield tally
    finally:
        ended.set()
        for thread in threads:
            thread.join()


_CREATED = "SELECT external_id, count(*) FROM users_user WHERE external_id = ANY(%s) GROUP BY 1"
_UPDATED = "SELECT city, count(*) FROM users_userevent WHERE city = ANY(%s) GROUP BY 1"


def assert_each_write_happened_once(api: PartnerClient, tally: Tally, url: str) -> None:
    """Repeat the writes whose outcome is unknown, each under its key; then each has happened once.

    url: of the database. An update is a version of the user's history.
    """
    for request in tally.unsure:
        response = api.send(request.method, request.target, request.body, key=request.key)
        assert response.status in {200, 201}, response.body
    writes = [*tally.done, *tally.unsure]
    created = [one.body["externalId"] for one in writes if one.body and one.method == "POST"]
    cities = [one.body["city"] for one in writes if one.body and one.method == "PATCH"]
    with psycopg.connect(url) as connection:
        for statement, names in ((_CREATED, created), (_UPDATED, cities)):
            assert _counts(connection.execute(statement, [names])) == dict.fromkeys(names, 1)


def _counts(rows: Iterable[tuple[str, int]]) -> dict[str, int]:
    return dict(rows)
