"""The service with all that it needs, and how each part fails.

A fault is a context manager: the part fails at the block's begin and is mended at its end.
"""

import os
import signal
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from subprocess import Popen
from threading import Event

import psutil
import psycopg

from tests.resilience.cluster import Cluster
from tests.slow.live.conftest import Server, answering, free_port, kill, launch
from tests.support.client import PartnerClient
from tests.support.delivering import start_delivering
from tests.support.receiver import Authority, Receiver, Reply
from tests.support.redis_process import own_redis

_CONNECTED = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = current_user AND pid <> %s"


class Machine:
    """A database of its own, Redis, one process of the service, two deliverers, and a partner's receiver of webhooks.

    The service has production's settings: its time-outs are part of what is tested.
    """

    def __init__(self, cluster: Cluster, receiver: Receiver, authority: Authority, folder: Path) -> None:
        self.cluster, self.receiver, self.folder = cluster, receiver, folder
        self._ended = ExitStack()
        self._redis_port = free_port()
        self._redis = self._ended.enter_context(own_redis(self._redis_port, folder))
        self._webhooks = {
            "DATABASE_URL": cluster.url,
            "DEBUG": "true",
            "WEBHOOK_ALLOW_LOOPBACK": "true",
            "WEBHOOK_CA_BUNDLE": str(authority.bundle),
        }
        cluster.manage("add_webhook", "acme", receiver.url, "--json", **self._webhooks)
        self.port = free_port()
        self.service = self._serve()
        self.deliverers = [self._deliver() for _ in range(2)]
        self._ended.callback(self._kill_all)

    def stop(self) -> None:
        """End the processes."""
        self._ended.close()

    def api(self) -> PartnerClient:
        """Return a client of the partner."""
        return self.cluster.client(self.service.transport)

    def _kill_all(self) -> None:
        kill(self.service)
        for process in self.deliverers:
            process.kill()
            process.wait()

    def _serve(self) -> Server:
        settings = {"DATABASE_URL": self.cluster.url, "DJANGO_SETTINGS_MODULE": "config.settings"}
        redis = f"redis://127.0.0.1:{self._redis_port}/0"
        return answering(launch(None, PORT=str(self.port), REDIS_URL=redis, **settings))

    def _deliver(self) -> "Popen[bytes]":
        return start_delivering(self.folder / "log", **self._webhooks)

    # Faults

    def database_hangs(self) -> AbstractContextManager[None]:
        """Stop all of the server's processes."""
        server = psutil.Process(self.cluster.server_process())
        return _suspended([server, *server.children(recursive=True)])

    @contextmanager
    def database_stops(self) -> Iterator[None]:
        self.cluster.stop()
        yield
        self.cluster.start()

    @contextmanager
    def database_is_killed(self) -> Iterator[None]:
        self.cluster.kill()
        yield
        self.cluster.start()

    @contextmanager
    def connections_are_lost(self) -> Iterator[None]:
        with psycopg.connect(self.cluster.url) as connection:
            connection.execute(_CONNECTED, [connection.info.backend_pid])
        yield

    @contextmanager
    def redis_stops(self) -> Iterator[None]:
        self._redis.kill()
        self._redis.wait()
        yield
        self._redis = self._ended.enter_context(own_redis(self._redis_port, self.folder))

    def redis_hangs(self) -> AbstractContextManager[None]:
        return _suspended([psutil.Process(self._redis.pid)])

    @contextmanager
    def service_is_killed(self) -> Iterator[None]:
        kill(self.service)
        yield
        self.service = self._serve()

    @contextmanager
    def deliverer_is_killed(self) -> Iterator[None]:
        # Neither has ended by itself.
        assert [process.poll() for process in self.deliverers] == [None, None]
        killed = self.deliverers.pop(0)
        killed.kill()
        killed.wait()
        yield
        self.deliverers.append(self._deliver())

    def deliverer_hangs(self) -> AbstractContextManager[None]:
        return _suspended([psutil.Process(self.deliverers[0].pid)])

    @contextmanager
    def receiver_hangs(self) -> Iterator[None]:
        """Let no webhook have a response."""
        mended = Event()
        self.receiver.reply = lambda _: Reply(wait=mended.wait)
        yield
        self.receiver.reply = lambda _: Reply()
        mended.set()


@contextmanager
def _suspended(processes: list[psutil.Process]) -> Iterator[None]:
    for process in processes:
        os.kill(process.pid, signal.SIGSTOP)
    try:
        yield
    finally:
        for process in processes:
            os.kill(process.pid, signal.SIGCONT)
