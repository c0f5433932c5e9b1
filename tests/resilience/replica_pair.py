"""A primary and a standby, separate from the other tests' server."""

import json
import os
import subprocess
import sys
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
from django.conf import settings

from config.embedded.server import OWNER_ROLE, SERVICE_ROLE, SOCKET, SUPERUSER, EmbeddedServer, give_to_account
from tests.support.client import PartnerClient
from tests.support.watched import Watched, wait_until

LIST_STATEMENT = "FROM transactions_conversion"
_STATEMENT = "partner-service LOG:  execute"


class Database(EmbeddedServer):
    """A cluster that logs each statement."""

    def execute(self, statement: str, *parameters: object) -> Any:
        """Run a statement as superuser in the service's database; return its rows, or None."""
        with psycopg.connect(self.url(SUPERUSER), autocommit=True) as connection:
            cursor = connection.execute(statement, parameters or None)
            return cursor.fetchall() if cursor.description else None

    def halt(self) -> None:
        """Stop the server with pg_ctl."""
        self.run("pg_ctl", "-D", str(self.data), "-m", "fast", "-w", "stop")

    def follow(self, primary: "Database") -> None:
        """Start as a streaming standby of `primary`."""
        self.data.mkdir(mode=0o700, parents=True)
        give_to_account(self.data)
        self.make_reachable()
        self.run(
            "pg_basebackup", "-h", str(primary.socket_folder), "-U", SUPERUSER, "-D", str(self.data),
            "--write-recovery-conf", "--wal-method=stream", "--checkpoint=fast", "--no-sync",
        )  # fmt: skip
        # Copied from the primary's data folder.
        for name in (f"{SOCKET}.lock", "server.log"):
            (self.data / name).unlink()
        self.ensure_running()

    @property
    def log(self) -> str:
        return (self.data / "server.log").read_text(errors="replace")

    @contextmanager
    def statements(self) -> Iterator[list[str]]:
        """Collect the service's statements during the block."""
        begin, found = len(self.log), list[str]()
        yield found
        found += self.log[begin:].split(_STATEMENT)[1:]

    @contextmanager
    def replay_paused(self) -> Iterator[None]:
        """Pause replay during the block."""
        self.execute("SELECT pg_wal_replay_pause()")
        wait_until(lambda: self.execute("SELECT pg_get_wal_replay_pause_state()") == [("paused",)])
        try:
            yield
        finally:
            self.execute("SELECT pg_wal_replay_resume()")


@dataclass(frozen=True)
class Pair:
    """Both databases, a service that uses them, and its client."""

    primary: Database
    standby: Database
    api: PartnerClient
    service: Watched

    def add_conversion(self, user_id: str, created_at: str, tiebreak: int = 0) -> None:
        """Insert a conversion on the primary."""
        self.primary.execute(
            "INSERT INTO transactions_conversion (partner_id, user_id, conversion_id, created_at, tiebreak,"
            " from_currency, from_amount, to_currency, to_amount, rate)"
            " SELECT partner_id, id, %s, %s, %s, 'CAD', 1, 'USD', 0.7, 0.7 FROM users_user WHERE id = %s",
            uuid.uuid4().hex, created_at, tiebreak, user_id,
        )  # fmt: skip

    def standby_reads(self, external_id: str) -> bool:
        """Whether a list of this user is read from the standby."""
        with self.standby.statements() as found:
            response = self.api.get(f"/v1/users/{external_id}/transactions")
        assert response.status == 200
        return any(LIST_STATEMENT in statement for statement in found)

    def caught_up(self) -> bool:
        """Whether the standby has replayed everything."""
        [(position,)] = self.primary.execute("SELECT pg_current_wal_lsn()::text")
        return bool(self.standby.execute("SELECT pg_last_wal_replay_lsn() >= %s::pg_lsn", position)[0][0])


@contextmanager
def following(folder: Path) -> Iterator[tuple[Database, Database]]:
    """Run a primary with the schema, and a standby."""
    primary, standby = Database(folder / "primary"), Database(folder / "standby")
    try:
        primary.ensure_running()
        _prepare(primary)
        standby.follow(primary)
        yield primary, standby
    finally:
        standby.leave()
        primary.leave()


def _prepare(primary: Database) -> None:
    for setting in ("log_statement = 'all'", "log_line_prefix = '%a '", "fsync = off"):
        primary.execute(f"ALTER SYSTEM SET {setting}")
    primary.execute("SELECT pg_reload_conf()")
    manage(primary, "migrate", "--verbosity", "0")


def issue_key(primary: Database) -> tuple[str, str]:
    """Return a new partner's API key and secret."""
    manage(primary, "create_partner", "acme", "--name", "Acme")
    issued = json.loads(manage(primary, "issue_api_key", "acme", "--json"))
    return issued["apiKey"], issued["secret"]


def manage(primary: Database, *arguments: str) -> str:
    """Return the output of a management command on this database."""
    here = {"DATABASE_URL": primary.url(SERVICE_ROLE), "OWNER_DATABASE_URL": primary.url(OWNER_ROLE)}
    return subprocess.run(
        [sys.executable, "manage.py", *arguments],
        cwd=settings.BASE_DIR,
        env=os.environ | {"DJANGO_SETTINGS_MODULE": "config.settings"} | here,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    ).stdout
