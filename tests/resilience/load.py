"""Load: signed requests over persistent connections, by clients that retry nothing."""

import http.client
import json
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from tests.support.client import Headers, PartnerClient, Response
from tests.support.timeouts import WAIT_SECONDS

# Makes the next request of one client, by its number: method, target, body.
Maker = Callable[[int], tuple[str, str, object]]


class KeptConnection:
    """A transport over one connection, reopened only after a response that closed it."""

    def __init__(self, port: int) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=WAIT_SECONDS)

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
    """Results: requests by status, failures, the slowest in seconds."""

    statuses: Counter[int] = field(default_factory=Counter)
    failures: list[str] = field(default_factory=list)
    # Not one of the contract's responses.
    malformed: list[bytes] = field(default_factory=list)
    slowest: float = 0.0
    # The externalId of each user who was created.
    created: list[str] = field(default_factory=list)

    @property
    def answered(self) -> int:
        return self.statuses.total()


@contextmanager
def load(
    api: PartnerClient, port: int, make: Maker, *, clients: int = 8, keep: bool = True, pause: float = 0.0
) -> Iterator[Tally]:
    """Run clients during the block; the tally is complete after it.

    keep: whether a client keeps its connection. pause: seconds between two of its requests.
    """
    tally, ended, lock = Tally(), threading.Event(), threading.Lock()

    def run(number: int) -> None:
        connection = KeptConnection(port)
        client = PartnerClient(api.api_key, api.secret, connection)
        while not ended.is_set():
            method, target, data = make(number)
            begun = time.monotonic()
            try:
                response = client.send(method, target, data)
            except (OSError, http.client.HTTPException) as error:
                with lock:
                    tally.failures.append(repr(error))
            else:
                with lock:
                    _note(tally, response)
            with lock:
                tally.slowest = max(tally.slowest, time.monotonic() - begun)
            if not keep:
                connection.close()
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


def _note(tally: Tally, response: Response) -> None:
    tally.statuses[response.status] += 1
    if response.status == 201:
        tally.created.append(response.json()["externalId"])
    if response.status >= 400 and (
        set(json.loads(response.body)) != {"error", "message", "requestId"} or not response.header("X-Request-Id")
    ):
        tally.malformed.append(response.body)
