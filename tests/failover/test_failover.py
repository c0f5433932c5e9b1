"""A cluster under Patroni loses its primary, a standby or etcd while partners and staff work: no write is lost.

`make failover-test` has a fault of each kind; FAILOVER_FAULTS=60 for the long run, FAILOVER_BY=haproxy for connections
by HAProxy in place of several hosts in DATABASE_URL. -s shows the table.
"""

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import pytest
from django.conf import settings

from config.embedded.server import DATABASE, OWNER_ROLE, SERVICE_ROLE
from tests import factories
from tests.deploy.asking import over_tls
from tests.deploy.conftest import program
from tests.deploy.proxy import NAME, Proxy
from tests.deploy.proxy import running as running_proxy
from tests.failover.clients import Clients, Notes
from tests.failover.patroni_cluster import Node, PatroniCluster, haproxy, running_cluster
from tests.slow.live.conftest import free_port, launch, production, stop
from tests.support.client import PartnerClient
from tests.support.delivering import delivering
from tests.support.receiver import Authority, Receiver
from tests.support.redis_process import own_redis
from tests.support.watched import wait_until

FAULTS = int(os.environ.get("FAILOVER_FAULTS", "5"))
BY_HAPROXY = os.environ.get("FAILOVER_BY") == "haproxy"
FROZEN_SECONDS = 15.0
# Acknowledged writes between two faults.
BETWEEN = 20
PARTNER = "acme"
LIVE_PARTNER = "bank"
REVIEWER = "rachel"


# --- Faults ---


@contextmanager
def after(seconds: float) -> Iterator[None]:
    """Let time pass at the end of the block: how long a fault lasts is its subject."""
    yield
    time.sleep(seconds)


def kill_postgres(cluster: PatroniCluster) -> None:
    cluster.node("leader").signal_postgres(signal.SIGKILL)


def lose_machine(cluster: PatroniCluster) -> None:
    node = cluster.node("leader")
    node.kill()
    wait_until(lambda: any(m["role"] == "leader" and m["name"] != node.name for m in cluster.members()))
    node.patroni.start()


def switch_over(cluster: PatroniCluster) -> None:
    leader, candidate = cluster.node("leader"), cluster.node("sync_standby")
    leader.asked("/switchover", method="POST", body={"leader": leader.name, "candidate": candidate.name})


def _freeze(node: Node, *, patroni: bool) -> None:
    with after(FROZEN_SECONDS):
        frozen = node.postgres()
        for process in frozen:
            process.send_signal(signal.SIGSTOP)
        if patroni:
            node.patroni.signal(signal.SIGSTOP)
    if patroni:
        node.patroni.signal(signal.SIGCONT)
    for process in frozen:
        if process.is_running():
            process.send_signal(signal.SIGCONT)


def freeze_primary(cluster: PatroniCluster) -> None:
    _freeze(cluster.node("leader"), patroni=False)


def freeze_machine(cluster: PatroniCluster) -> None:
    _freeze(cluster.node("leader"), patroni=True)


def kill_standby(cluster: PatroniCluster) -> None:
    cluster.node("sync_standby").kill_and_restart()


def cut_replication(cluster: PatroniCluster) -> None:
    """The synchronous standby receives nothing, as where the network between the two is cut."""
    receivers = [p for p in cluster.node("sync_standby").postgres() if "walreceiver" in " ".join(p.cmdline())]
    with after(FROZEN_SECONDS):
        for receiver in receivers:
            receiver.send_signal(signal.SIGSTOP)
    for receiver in receivers:
        if receiver.is_running():
            receiver.send_signal(signal.SIGCONT)


def kill_etcd(cluster: PatroniCluster) -> None:
    with after(FROZEN_SECONDS):
        cluster.etcd.end()
    cluster.etcd.start()


KINDS: dict[str, Callable[[PatroniCluster], None]] = {
    "PostgreSQL of the primary killed": kill_postgres,
    "switchover": switch_over,
    "primary frozen for 15 s": freeze_primary,
    "synchronous standby killed": kill_standby,
    "etcd away for 15 s": kill_etcd,
    "machine of the primary lost": lose_machine,
    "machine of the primary frozen for 15 s": freeze_machine,
    "replication to the standby cut for 15 s": cut_replication,
}


# --- The installation ---


@dataclass
class Installation:
    """A cluster, two services behind the proxy, two deliverers, Redis, and a receiver of webhooks."""

    cluster: PatroniCluster
    proxy: Proxy
    receiver: Receiver
    environment: dict[str, str]
    keys: dict[str, tuple[str, str]]

    def client(self, partner: str, number: int) -> PartnerClient:
        """A client from an address of its own: nginx limits the requests of one."""
        return PartnerClient(*self.keys[partner], over_tls(self.proxy, address=f"127.0.0.{number + 10}"))

    def decide(self, external_id: str) -> bool:
        """Whether a member of staff was told that the decision is made, or had been made."""
        ended = run(self.environment, "change_user_status", LIVE_PARTNER, external_id, "active", "--by", REVIEWER,
                    "--reason", "Identity verified.", "--json")  # fmt: skip
        return ended.returncode == 0 or "from active" in ended.stderr


def run(environment: dict[str, str], *arguments: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "manage.py", *arguments],
        cwd=settings.BASE_DIR, env=os.environ | environment, capture_output=True, text=True, check=False,
    )  # fmt: skip


def manage(environment: dict[str, str], *arguments: str) -> str:
    ended = run(environment, *arguments)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


@pytest.fixture
def installation(tmp_path: Path) -> Iterator[Installation]:
    nginx = program("nginx")
    authority = Authority.create(tmp_path)
    redis_port = free_port()
    with ExitStack() as stack:
        cluster = stack.enter_context(running_cluster())
        stack.enter_context(own_redis(redis_port, tmp_path))
        if BY_HAPROXY:
            port = stack.enter_context(haproxy(cluster.folder, cluster.nodes))
            url = f"postgresql://{SERVICE_ROLE}@127.0.0.1:{port}/{DATABASE}"
        else:
            url = cluster.url(SERVICE_ROLE)
        # Production's settings: its time limits are a subject of the test.
        environment = production(
            DJANGO_SETTINGS_MODULE="config.settings",
            ALLOWED_HOSTS=NAME,
            REDIS_URL=f"redis://127.0.0.1:{redis_port}/0",
            DATABASE_URL=url,
        )
        owner = environment | {"OWNER_DATABASE_URL": cluster.url(OWNER_ROLE)}
        manage(owner, "migrate", "--verbosity", "0")
        manage(owner, "create_partner", PARTNER, "--name", "Acme Inc.", "--sandbox")
        manage(owner, "create_partner", LIVE_PARTNER, "--name", "Bank")
        manage(owner, "create_staff", REVIEWER, "--email", "rachel@example.com", "--role", "reviewer")
        # As if she had signed in.
        has_signed_in = "from staff.models import Staff; Staff.objects.update(password_is_one_time=False)"
        manage(environment, "shell", "--verbosity", "0", "--command", has_signed_in)
        keys = {}
        for slug in (PARTNER, LIVE_PARTNER):
            issued = json.loads(manage(owner, "issue_api_key", slug, "--json"))
            keys[slug] = issued["apiKey"], issued["secret"]
        receiver = stack.enter_context(authority.receiver())
        delivers = environment | {
            "DEBUG": "true", "WEBHOOK_ALLOW_LOOPBACK": "true", "WEBHOOK_CA_BUNDLE": str(authority.bundle)
        }  # fmt: skip
        manage(delivers, "add_webhook", PARTNER, receiver.url, "--json")
        for number in (1, 2):
            stack.enter_context(delivering(tmp_path / f"deliver-{number}.log", **delivers))
        servers = []
        for number in (1, 2):
            server = launch(stack.enter_context((tmp_path / f"serve-{number}.log").open("wb")), **environment)
            stack.callback(stop, server)
            servers.append(server)
        for server in servers:
            wait_until(lambda server=server: server.transport("GET", "/readyz", {}, b"").status == 200)  # type: ignore[misc]
        proxy = stack.enter_context(running_proxy(nginx, [server.port for server in servers]))
        yield Installation(cluster, proxy, receiver, environment, keys)


# --- The test ---


def chosen() -> list[str]:
    """The kinds of faults, each once before one comes twice."""
    kinds: list[str] = []
    while len(kinds) < FAULTS:
        kinds += [*KINDS] if len(KINDS) >= FAULTS else random.sample([*KINDS], len(KINDS))
    return kinds[:FAULTS]


def test_no_acknowledged_write_is_lost_or_doubled_when_the_cluster_fails(installation: Installation) -> None:
    cluster = installation.cluster
    clients = Clients(
        lambda number: installation.client(PARTNER, number),
        decide=installation.decide,
        make_live_client=lambda number: installation.client(LIVE_PARTNER, number),
    )
    pauses: dict[str, list[float]] = defaultdict(list)
    with clients.running() as notes:
        for kind in chosen():
            wait_for_writes(notes)
            cluster.wait_until_healthy()
            begun = time.monotonic()
            KINDS[kind](cluster)
            cluster.wait_until_healthy()
            wait_for_writes(notes)
            pauses[kind].append(notes.pause_of_writes(begun, time.monotonic()))
            print(f"{kind}: {pauses[kind][-1]:.1f} s")  # noqa: T201 - figures, shown with -s
    print(table(pauses, notes))  # noqa: T201
    assert_nothing_is_lost(installation, notes)
    assert_the_feed_is_complete(installation, clients)
    assert notes.wrong == []


def wait_for_writes(notes: Notes) -> None:
    enough = len(notes.acknowledged) + BETWEEN
    wait_until(lambda: len(notes.acknowledged) >= enough)


def table(pauses: dict[str, list[float]], notes: Notes) -> str:
    lines = [f"{'fault':42} times  median s  worst s"]
    lines += [f"{kind:42} {len(each):5} {median(each):9.1f} {max(each):8.1f}" for kind, each in pauses.items()]
    lines.append(
        f"writes acknowledged {len(notes.acknowledged)}, reads {notes.reads}, decisions {len(notes.staff_decisions)},"
        f" events {len(notes.events)}, without a response or 503: {dict(notes.refused)},"
        f" slowest {notes.slowest:.2f} s"
    )
    return "\n".join(lines)


def assert_nothing_is_lost(installation: Installation, notes: Notes) -> None:
    """Each acknowledged write is there, with one effect."""
    execute = installation.cluster.execute
    stored = {str(key): (external_id, occupation) for key, external_id, occupation in execute(
        "SELECT id, external_id, occupation FROM users_user")}  # fmt: skip
    history = Counter(execute("SELECT id::text, occupation FROM users_userevent WHERE pgh_label = 'update'"
                              " AND occupation LIKE 'Engineer %'"))  # fmt: skip
    made = Counter(row[0] for row in execute("SELECT external_id FROM users_userevent WHERE pgh_label = 'insert'"))
    assert set(made.values()) == {1}
    decided = Counter(row[0] for row in execute("SELECT u.external_id FROM users_statuschange c"
                                                " JOIN users_user u ON u.id = c.user_id"))  # fmt: skip
    conversions = Counter(row[0] for row in execute("SELECT conversion_id FROM transactions_conversion"))
    for external_id, written in (notes.users | notes.live_users).items():
        assert stored[written.user_id][0] == external_id
        before = written.values[-1] if written.values else factories.user_body()["occupation"]
        assert stored[written.user_id][1] in {before, written.unsure}
        for value in written.values:
            assert history[written.user_id, value] == 1, (external_id, value)
        assert decided[external_id] >= written.decisions
        assert conversions.keys() >= set(written.conversions)
    assert set(decided.values()) <= {1}
    assert decided.keys() >= notes.staff_decisions
    assert set(conversions.values()) <= {1}


def assert_the_feed_is_complete(installation: Installation, clients: Clients) -> None:
    """The feed has each change once, the follower has read all of it in order, and each event was delivered."""
    execute, notes = installation.cluster.execute, clients.notes
    wait_until(lambda: execute("SELECT count(*) FROM events_outboxentry") == [(0,)])
    placed = [row[0] for row in execute(
        "SELECT event_id::text FROM events_event JOIN partners_partner p ON p.id = partner_id"
        f" WHERE slug = '{PARTNER}' ORDER BY position")]  # fmt: skip
    client = installation.client(PARTNER, 0)
    response: Any = None
    while response is None or response["hasMore"]:
        cursor = response["nextCursor"] if response else clients.cursor
        response = client.get(f"/v1/events?limit=100{cursor and f'&cursor={cursor}'}").json()
        notes.events += [item["eventId"] for item in response["items"]]
    assert notes.events == placed
    [(changes, recorded, conversions)] = execute(
        "SELECT count(*) FILTER (WHERE type = 'user.statusChanged'),"
        " sum((data->>'count')::int) FILTER (WHERE type = 'user.transactionsRecorded'),"
        " (SELECT count(*) FROM transactions_conversion) FROM events_event"
    )
    [(decisions,)] = execute("SELECT count(*) FROM users_statuschange")
    assert (changes, recorded) == (decisions, conversions)
    wait_until(lambda: set(placed) <= set(installation.receiver.events()), seconds=900)
