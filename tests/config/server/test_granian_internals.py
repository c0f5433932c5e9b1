"""The private names of granian that config/server/granian_internals.py uses."""

import inspect
import os
import signal
import socket
import subprocess
import sys
import urllib.request
from contextlib import closing
from pathlib import Path

import psutil
from granian._granian import SocketHolder
from granian.server import MPServer
from granian.server.mp import WorkerProcess

from tests.support.timeouts import WAIT_SECONDS

ROOT = Path(__file__).parents[3]


def test_a_worker_is_spawned_with_index_target_and_loader() -> None:
    assert [*inspect.signature(MPServer._spawn_worker).parameters] == ["self", "idx", "target", "callback_loader"]
    assert inspect.signature(WorkerProcess.__init__).parameters.keys() == {"self", "parent", "idx", "target", "args"}


def test_the_worker_takes_its_socket_from_two_attributes() -> None:
    server = MPServer("")
    assert (server._shd, server._ssp) == (None, None)
    assert {"_shd", "_ssp", "_sso"} <= set(MPServer._spawn_worker.__code__.co_names)


def test_a_socket_is_passed_by_its_descriptor() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        held = SocketHolder(listener.fileno(), uds=False, backlog=128)  # type: ignore[call-arg]
        assert (held.get_fd(), held.is_uds()) == (listener.fileno(), False)


# In a separate process: a fork of this one would inherit locked locks.
SERVE = """
import multiprocessing, socket, sys
from config.server.granian_internals import WorkerFactory

def application(environ, start_response):
    start_response("200 OK", [("Content-Length", "5")])
    return [b"hello"]

multiprocessing.set_start_method("fork")
listener = socket.create_server(("127.0.0.1", 0))
process = WorkerFactory(blocking_threads=1, log_enabled=False).process(listener, lambda: application)
process.start()
print(listener.getsockname()[1], process.pid, flush=True)
process.join()
print(process.exitcode, flush=True)
"""


def test_a_worker_process_serves_from_the_socket_and_ends_at_sigterm() -> None:
    with subprocess.Popen([sys.executable, "-c", SERVE], cwd=ROOT, stdout=subprocess.PIPE, text=True) as master:
        assert master.stdout is not None
        port, worker = map(int, master.stdout.readline().split())
        try:
            with closing(urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=WAIT_SECONDS)) as answer:
                assert (answer.status, answer.read()) == (200, b"hello")
            os.kill(worker, signal.SIGTERM)
            assert master.stdout.readline() == "0\n"
        finally:
            for child in psutil.Process(master.pid).children():
                child.kill()
            master.kill()
