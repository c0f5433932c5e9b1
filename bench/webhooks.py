"""Delivery of webhooks by one process: `python -m bench.webhooks [--events 2000] [--seconds 60]`.

Prints deliveries a second to receivers on this machine, and then, beside three endpoints that accept connections and
never answer, how long after its commit an event is in the feed and at a healthy endpoint.
"""

import argparse
import asyncio
import os
import secrets
import socket
import ssl
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import uuid
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import psycopg
import trustme
from aiohttp import web

from bench import cluster

DATABASE = "webhooks"
DEAD = 3
# Receivers of the first measurement; two requests at once to each.
RECEIVERS = 8
EVENTS_PER_SECOND = 20
# A user each, so that none waits for another.
_INSERT = """
    INSERT INTO partners_outboxentry (partner_id, type, user_ids, data)
    SELECT partner.id, 'user.statusChanged', ARRAY[given.id::uuid], jsonb_build_object('externalId', given.id)
      FROM partners_partner partner, unnest(%s::text[]) AS given (id) WHERE slug = %s
"""
_PLACED = "SELECT user_id::text FROM partners_event WHERE user_id = ANY(%s::uuid[])"
_ADD = """
import django; django.setup()
import sys
from partners.models import Partner
from partners.webhooks.endpoints import add_endpoint
for slug, *urls in (line.split() for line in sys.stdin):
    partner = Partner.objects.create(slug=slug, name=slug)
    for url in urls:
        add_endpoint(partner=partner, url=url)
"""


class Receiver:
    """An HTTPS server of this process that notes when events arrive. port: after `start`."""

    def __init__(self, context: ssl.SSLContext) -> None:
        self.arrived: dict[str, float] = {}
        self._context = context
        self._started = threading.Event()
        threading.Thread(target=lambda: asyncio.run(self._serve()), daemon=True).start()
        self._started.wait()

    async def _serve(self) -> None:
        application = web.Application()
        application.router.add_post("/{name}", self._receive)
        runner = web.AppRunner(application, access_log=None)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0, ssl_context=self._context, backlog=1024)
        await site.start()
        self.port: int = runner.addresses[0][1]
        self._started.set()
        await asyncio.Event().wait()

    async def _receive(self, request: web.Request) -> web.Response:
        event = await request.json()
        self.arrived.setdefault(f"{request.path} {event['data']['externalId']}", time.time())
        return web.Response(status=204)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=2000, help="of the first measurement (2000)")
    parser.add_argument("--seconds", type=int, default=60, help="of the second measurement (60)")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name, ExitStack() as stack:
        folder = Path(name)
        folder.chmod(0o755)
        database = stack.enter_context(cluster.running(folder / "postgres"))
        database.create(DATABASE)
        authority = trustme.CA()
        authority.cert_pem.write_to_path(str(folder / "authority.pem"))
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        authority.issue_cert("localhost").configure_cert(context)
        receiver = Receiver(context)
        dead = stack.enter_context(socket.create_server(("127.0.0.1", 0), backlog=1024))
        environment = _environment(database, folder)
        _run(environment, "manage.py", "migrate", "--verbosity", "0")
        good, silent = f"https://localhost:{receiver.port}", f"https://localhost:{dead.getsockname()[1]}"
        lines = [f"p{number} {good}/p{number}" for number in range(RECEIVERS)]
        lines.append(" ".join(["beside", f"{good}/healthy", *(f"{silent}/{number}" for number in range(DEAD))]))
        _run(environment, "-c", _ADD, given="\n".join(lines))
        connection = stack.enter_context(database.connect(DATABASE))
        _throughput(connection, receiver, environment, options.events)
        _latency(connection, receiver, environment, options.seconds)


def _throughput(
    connection: psycopg.Connection[Any], receiver: Receiver, environment: dict[str, str], count: int
) -> None:
    """Deliver events that are there already."""
    for number in range(RECEIVERS):
        connection.execute(_INSERT, ([str(uuid.uuid4()) for _ in range(count // RECEIVERS)], f"p{number}"))
    with _delivering(environment) as process:
        while len(receiver.arrived) < count // RECEIVERS * RECEIVERS:
            time.sleep(0.05)
        seconds = max(receiver.arrived.values()) - min(receiver.arrived.values())
        used = _processor_seconds(process)
    _say(f"{count / seconds:,.0f} deliveries/s by one process, {used / count * 1000:.1f} ms of its processor each")


def _latency(
    connection: psycopg.Connection[Any], receiver: Receiver, environment: dict[str, str], seconds: int
) -> None:
    """Deliver events as they are committed, beside dead endpoints."""
    committed: dict[str, float] = {}
    placed: dict[str, float] = {}
    with _delivering(environment):
        first = str(uuid.uuid4())
        connection.execute(_INSERT, ([first], "beside"))
        while f"/healthy {first}" not in receiver.arrived:
            time.sleep(0.05)
        begun = time.monotonic()
        while (elapsed := time.monotonic() - begun) < seconds or len(placed) < len(committed):
            if elapsed < seconds and len(committed) < elapsed * EVENTS_PER_SECOND:
                event = str(uuid.uuid4())
                connection.execute(_INSERT, ([event], "beside"))
                committed[event] = time.time()
            waiting = [event for event in committed if event not in placed]
            found = connection.execute(_PLACED, [waiting])
            placed |= dict.fromkeys((event for (event,) in found), time.time())
            time.sleep(0.01)
        while not all(f"/healthy {event}" in receiver.arrived for event in committed):
            time.sleep(0.05)
    _spread("commit to feed", [placed[event] - at for event, at in committed.items()])
    _spread(
        f"commit to the healthy endpoint beside {DEAD} dead ones",
        [receiver.arrived[f"/healthy {event}"] - at for event, at in committed.items()],
    )


def _spread(name: str, values: Sequence[float]) -> None:
    hundredths = statistics.quantiles(values, n=100)
    _say(
        f"{name}: median {hundredths[49] * 1000:.0f} ms, p99 {hundredths[98] * 1000:.0f} ms,"
        f" most {max(values) * 1000:.0f} ms of {len(values)}"
    )


@contextmanager
def _delivering(environment: dict[str, str]) -> Iterator[int]:
    process = subprocess.Popen(
        [sys.executable, "manage.py", "deliver_events"], env=environment, stderr=subprocess.DEVNULL
    )
    try:
        yield process.pid
    finally:
        process.terminate()
        process.wait()


def _processor_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _run(environment: dict[str, str], *arguments: str, given: str = "") -> None:
    subprocess.run([sys.executable, *arguments], env=environment, input=given.encode(), check=True)  # noqa: S603


def _environment(database: cluster.Cluster, folder: Path) -> dict[str, str]:
    return os.environ | {
        "DJANGO_SETTINGS_MODULE": "config.settings",
        "DEBUG": "true",
        "SECRET_KEY": secrets.token_urlsafe(40),
        "SECRETS_ENCRYPTION_KEYS": secrets.token_urlsafe(40),
        "DATABASE_URL": database.url(DATABASE),
        "OWNER_DATABASE_URL": database.owner_url(DATABASE),
        "WEBHOOK_ALLOW_LOOPBACK": "true",
        "WEBHOOK_CA_BUNDLE": str(folder / "authority.pem"),
    }


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
