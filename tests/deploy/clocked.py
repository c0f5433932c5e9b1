"""The service with its clock set by each request, so that the published vectors can be sent as they are published.

python -m tests.deploy.clocked serves on PORT; the header X-Test-Now says what time it is.
"""

import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime, tzinfo
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from partners.rfc_3339 import parse_timestamp
from tests.support.timeouts import WAIT_SECONDS

ROOT = Path(__file__).parents[2]
HEADER = "X-Test-Now"

_request = threading.local()
_service: Any = None


def _now(zone: tzinfo | None = None) -> datetime:

    return parse_timestamp(_request.now).astimezone(zone)


def application(environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
    """Respond to a request at the time of its timestamp."""
    global _service  # noqa: PLW0603 - made once for a process, and not where a test imports this file
    if _service is None:
        from config.wsgi import application as service
        from partners.authentication import signature_authentication

        vars(signature_authentication)["datetime"] = SimpleNamespace(now=_now)
        _service = service
    _request.now = environ.get("HTTP_" + HEADER.upper().replace("-", "_"), "2026-01-15T10:30:00Z")
    answer: Iterable[bytes] = _service(environ, start_response)
    return answer


@contextmanager
def serving(environment: Mapping[str, str]) -> Iterator[int]:
    """Run it in a separate process; yield the port."""
    from tests.live.conftest import free_port  # not for the process that serves, which is to have settings first

    port = free_port()
    command = [sys.executable, "-m", "tests.deploy.clocked"]
    where = os.environ | environment | {"PORT": str(port)}
    with subprocess.Popen(command, env=where, cwd=ROOT, stderr=subprocess.DEVNULL) as process:
        try:
            _wait_for(port, process)
            yield port
        finally:
            process.terminate()


def _wait_for(port: int, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + WAIT_SECONDS
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            assert process.poll() is None, "the server has ended"
            assert time.monotonic() < deadline, "the server does not listen"
            time.sleep(0.05)
        else:
            return


def main() -> None:
    """Serve one request after another, until SIGTERM."""
    from granian.constants import HTTPModes, Interfaces
    from granian.server import Server

    Server(
        "tests.deploy.clocked:application",
        port=int(os.environ["PORT"]),
        interface=Interfaces.WSGI,
        http=HTTPModes.http1,
        log_enabled=False,
    ).serve()


if __name__ == "__main__":
    main()
