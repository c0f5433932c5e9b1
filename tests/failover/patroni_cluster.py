"""Three PostgreSQL nodes under Patroni and etcd on this machine, with the files of deploy/patroni."""

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import sysconfig
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import psutil
import psycopg
import pytest
import yaml
from django.conf import settings

from config.embedded.server import _SETUP, DATABASE, SUPERUSER, EmbeddedServer, programs
from tests.deploy.conftest import program
from tests.slow.live.conftest import free_port
from tests.support.watched import wait_until

DEPLOYED = Path(settings.BASE_DIR) / "deploy" / "patroni"
# For a failover, and for a node to come back, on a busy machine.
HEALTHY_SECONDS = 240.0
PACKAGES = sysconfig.get_path("purelib")


def _account() -> Any:
    """Options of subprocess, for a program that refuses to run as root."""
    return {"user": "nobody", "group": "nogroup", "extra_groups": []} if os.geteuid() == 0 else {}


def python_of_account() -> str:
    """A Python that the account can run with -S and this environment's packages; skips the test without one.

    That of the virtual environment may lie where root alone comes, such as pyenv's.
    """
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    for candidate in (sys.executable, f"/usr/bin/{version}", f"/usr/local/bin/{version}"):
        with suppress(OSError, subprocess.CalledProcessError):
            subprocess.run(
                [candidate, "-S", "-c", "import patroni.__main__, patroni.dcs.etcd3, psycopg"],
                env={"PYTHONPATH": PACKAGES},
                cwd="/",
                capture_output=True,
                check=True,
                **_account(),
            )
            return candidate
    pytest.skip(f"Nobody but root can run {sys.executable}, and there is no {version} beside it.")


class Process:
    """A program with its log, under the account of PostgreSQL, which refuses to run as root."""

    def __init__(self, log: Path, *command: str, environment: dict[str, str] | None = None) -> None:
        self._log, self._command, self._environment = log, command, environment or {}
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        with self._log.open("ab") as output:
            self._process = subprocess.Popen(
                self._command,
                cwd="/",
                env={"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8"} | self._environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
                **_account(),
            )

    def signal(self, number: int) -> None:
        """Send a signal, if it runs."""
        if self._process is not None:
            with suppress(ProcessLookupError):
                os.kill(self._process.pid, number)

    def end(self) -> None:
        """Kill it."""
        self.signal(signal.SIGKILL)
        if self._process is not None:
            self._process.wait()
            self._process = None


class Node:
    """A node: Patroni and its PostgreSQL."""

    def __init__(self, name: str, folder: Path, etcd: str, python: str) -> None:
        self.name, self.folder = name, folder
        self.port, self.rest_port = free_port(), free_port()
        self.data = folder / "data"
        environment = _environment_of_a_node(
            PATRONI_NAME=name,
            PATRONI_RESTAPI_LISTEN=f"127.0.0.1:{self.rest_port}",
            PATRONI_RESTAPI_CONNECT_ADDRESS=f"127.0.0.1:{self.rest_port}",
            PATRONI_ETCD3_HOSTS=etcd,
            PATRONI_POSTGRESQL_LISTEN=f"127.0.0.1:{self.port}",
            PATRONI_POSTGRESQL_CONNECT_ADDRESS=f"127.0.0.1:{self.port}",
            PATRONI_POSTGRESQL_DATA_DIR=str(self.data),
            PATRONI_POSTGRESQL_BIN_DIR=str(programs()),
            PATRONI_POSTGRESQL_PGPASS=str(folder / "pgpass"),
        )
        self.patroni = Process(
            folder / "patroni.log",
            *(python, "-S", "-m", "patroni", str(folder / "patroni.yml")),
            environment=environment | {"PYTHONPATH": PACKAGES},
        )

    def write_configuration(self) -> None:
        """Write deploy/patroni/patroni.yml without TLS, archive and watchdog, which this machine has not."""
        written = yaml.safe_load((DEPLOYED / "patroni.yml").read_text())
        parameters = written["bootstrap"]["dcs"]["postgresql"]
        del parameters["recovery_conf"]
        parameters["parameters"] |= {"archive_mode": "off", "archive_command": ""}
        written["postgresql"]["parameters"] = {"unix_socket_directories": str(self.folder)}
        written["postgresql"]["pg_hba"] = [
            "local all all trust",
            "host all all 127.0.0.1/32 trust",
            "host replication all 127.0.0.1/32 trust",
        ]
        written["watchdog"] = {"mode": "off"}
        (self.folder / "patroni.yml").write_text(yaml.safe_dump(written))

    def postgres(self) -> list[psutil.Process]:
        """The processes of PostgreSQL, the postmaster first."""
        with suppress(FileNotFoundError, ValueError, IndexError, psutil.NoSuchProcess):
            postmaster = psutil.Process(int((self.data / "postmaster.pid").read_text().split()[0]))
            if postmaster.status() != psutil.STATUS_ZOMBIE:
                return [postmaster, *postmaster.children(recursive=True)]
        return []

    def signal_postgres(self, number: int) -> None:
        """Send a signal to all of PostgreSQL's processes."""
        for process in self.postgres():
            with suppress(psutil.NoSuchProcess):
                process.send_signal(number)

    def kill(self) -> None:
        """Kill Patroni and PostgreSQL, as a machine that loses its power does."""
        self.patroni.signal(signal.SIGKILL)
        self.signal_postgres(signal.SIGKILL)
        self.patroni.end()

    def kill_and_restart(self) -> None:
        """Kill it, and start Patroni again, which starts PostgreSQL."""
        self.kill()
        self.patroni.start()

    def asked(self, path: str, *, method: str = "GET", body: object = None) -> Any:
        """What Patroni's REST API responds. Raises OSError."""
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.rest_port}{path}",
            method=method,
            data=json.dumps(body).encode() if body is not None else None,
        )
        with urllib.request.urlopen(request, timeout=30) as response:
            return json.loads(response.read() or b"null") if method == "GET" else response.read()


def _environment_of_a_node(**values: str) -> dict[str, str]:
    """deploy/patroni/environment.example with these values."""
    text = (DEPLOYED / "environment.example").read_text()
    given = dict(re.findall(r"^(PATRONI_\w+)=(.*)$", text, re.MULTILINE))
    assert values.keys() <= given.keys()
    # Here without passwords and without TLS.
    left_out = re.compile("<|PATRONI_RESTAPI_USERNAME|PATRONI_ETCD3_(PROTOCOL|CACERT|CERT|KEY)")
    return {name: value for name, value in given.items() if not left_out.search(f"{name}={value}")} | values


class PatroniCluster:
    """etcd and three nodes."""

    def __init__(self, folder: Path, etcd_program: str, python: str) -> None:
        client, peer = free_port(), free_port()
        self.etcd = Process(
            folder / "etcd.log",
            *(etcd_program, "--name", "etcd1", "--data-dir", str(folder / "etcd")),
            *("--listen-client-urls", f"http://127.0.0.1:{client}"),
            *("--advertise-client-urls", f"http://127.0.0.1:{client}"),
            *("--listen-peer-urls", f"http://127.0.0.1:{peer}"),
            *("--initial-advertise-peer-urls", f"http://127.0.0.1:{peer}"),
            *("--initial-cluster", f"etcd1=http://127.0.0.1:{peer}"),
        )
        self.nodes = [
            Node(f"db{number}", folder / f"db{number}", f"127.0.0.1:{client}", python) for number in (1, 2, 3)
        ]
        self.folder = folder

    def start(self) -> None:
        """Make the cluster, with the service's roles and database."""
        for folder in [self.folder, *(node.folder for node in self.nodes)]:
            folder.mkdir(exist_ok=True)
            if os.geteuid() == 0:
                shutil.chown(folder, "nobody", "nogroup")
        for node in self.nodes:
            node.write_configuration()
        self.etcd.start()
        for node in self.nodes:
            node.patroni.start()
        self.wait_until_healthy()
        self.execute(*_SETUP.values(), database="postgres")

    def stop(self) -> None:
        for node in self.nodes:
            node.patroni.end()
            node.signal_postgres(signal.SIGKILL)
        self.etcd.end()

    def url(self, role: str, database: str = DATABASE) -> str:
        """A URL that names all nodes."""
        hosts = ",".join(f"127.0.0.1:{node.port}" for node in self.nodes)
        return f"postgresql://{role}@{hosts}/{database}"

    def execute(self, *statements: str, database: str = DATABASE) -> list[tuple[Any, ...]]:
        """Run statements as superuser on the primary; return the rows of the last."""
        url = f"{self.url(SUPERUSER, database)}?target_session_attrs=read-write&connect_timeout=5"
        with psycopg.connect(url, autocommit=True) as connection:
            for statement in statements:
                cursor = connection.execute(statement.encode())
            return cursor.fetchall() if cursor.description else []

    def members(self) -> list[dict[str, Any]]:
        """Role and state of each node, as a Patroni that runs reports them."""
        for node in self.nodes:
            with suppress(OSError):
                members: list[dict[str, Any]] = node.asked("/cluster")["members"]
                return members
        return []

    def is_healthy(self) -> bool:
        """Whether a primary runs, both others follow it, and one of them has every commit."""
        states = sorted((member["role"], member["state"]) for member in self.members())
        return states == [("leader", "running"), ("replica", "streaming"), ("sync_standby", "streaming")]

    def wait_until_healthy(self) -> None:
        try:
            wait_until(self.is_healthy, seconds=HEALTHY_SECONDS)
        except AssertionError:
            raise AssertionError(f"The cluster is not healthy: {self.members()}") from None

    def node(self, role: str) -> Node:
        """The node with this role: leader, sync_standby or replica."""
        names = [member["name"] for member in self.members() if member["role"] == role]
        assert names, f"no node is {role}"
        return next(node for node in self.nodes if node.name == names[0])


@contextmanager
def haproxy(folder: Path, nodes: Sequence[Node]) -> Iterator[int]:
    """Run HAProxy with deploy/patroni/haproxy.cfg; yield the port of the primary.

    folder: one that the nodes' account reaches.
    """
    primary = free_port()
    text = (DEPLOYED / "haproxy.cfg").read_text().replace("127.0.0.1:5000", f"127.0.0.1:{primary}")
    for number, node in enumerate(nodes, 1):
        text = re.sub(
            rf"server db{number} \S+ check port \d+",
            f"server db{number} 127.0.0.1:{node.port} check port {node.rest_port}",
            text,
        )
    (folder / "haproxy.cfg").write_text(text)
    process = Process(folder / "haproxy.log", program("haproxy"), "-f", str(folder / "haproxy.cfg"))
    process.start()
    try:
        wait_until(lambda: _listens(primary))
        yield primary
    finally:
        process.end()


def _listens(port: int) -> bool:
    with socket.socket() as connection:
        return connection.connect_ex(("127.0.0.1", port)) == 0


@contextmanager
def running_cluster() -> Iterator[PatroniCluster]:
    """Run a cluster in a temporary folder, which remains if the test fails."""
    # Not pytest's folder, into which no other account can look.
    folder = Path(mkdtemp(prefix="psi-failover-"))
    # Lets the account reach programs and packages.
    EmbeddedServer(folder).make_reachable()
    cluster = PatroniCluster(folder, program("etcd"), python_of_account())
    with ExitStack() as at_end:
        at_end.callback(cluster.stop)
        cluster.start()
        yield cluster
        at_end.close()
        shutil.rmtree(folder)
