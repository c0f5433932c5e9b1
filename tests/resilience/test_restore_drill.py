"""A point-in-time recovery by deploy/patroni/restore-drill.sh, and what a partner sees of one (docs/operations.md)."""

import json
import os
import re
import subprocess
import tempfile
import uuid
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest
from django.conf import settings

from config.embedded.server import OWNER_ROLE, SERVICE_ROLE, SUPERUSER, EmbeddedServer, give_to_account, programs
from tests import factories
from tests.resilience.test_backup import Place
from tests.slow.live.conftest import Server, serving
from tests.support.client import PartnerClient
from tests.support.delivering import delivering
from tests.support.timeouts import WAIT_SECONDS
from tests.support.watched import wait_until
from tests.support.writers import Writer

ROOT = Path(settings.BASE_DIR)
SCRIPT = ROOT / "deploy/patroni/restore-drill.sh"
RUNBOOK = (ROOT / "docs/operations.md").read_text()
_RESTORE = """
cp -a {base} "$FOLDER/data" && touch "$FOLDER/data/recovery.signal" &&
printf "%s\\n" "restore_command = 'cp {archive}/%f \\"%p\\"'" "recovery_target_time = '$TARGET'" \
  "recovery_target_action = promote" >> "$FOLDER/data/postgresql.auto.conf"
"""


class Archiving(EmbeddedServer):
    """A primary with a backup and an archive of its WAL."""

    @property
    def base(self) -> Path:
        return self.folder / "base"

    @property
    def archive(self) -> Path:
        return self.folder / "archive"

    def begin(self) -> None:
        """Start, with an empty archive."""
        self.ensure_running()
        self.archive.mkdir()
        give_to_account(self.archive)
        self.execute("ALTER SYSTEM SET archive_mode = on")
        self.execute(f"ALTER SYSTEM SET archive_command = 'cp %p {self.archive}/%f'")
        self.run("pg_ctl", "-D", str(self.data), "-m", "fast", "-w", "stop")
        self.ensure_running()

    def back_up(self) -> None:
        self.base.mkdir(mode=0o700)
        give_to_account(self.base)
        self.run(
            "pg_basebackup", "-h", str(self.socket_folder), "-U", SUPERUSER, "-D", str(self.base), "--checkpoint=fast",
            "--no-sync",
        )  # fmt: skip
        (self.base / "server.log").unlink()

    def execute(self, statement: str) -> str:
        """The first value of the first row, as text."""
        with psycopg.connect(self.url(SUPERUSER), autocommit=True) as connection:
            cursor = connection.execute(statement.encode())
            return str(cursor.fetchone()[0]) if cursor.description else ""  # type: ignore[index]

    def archive_all(self) -> None:
        """Archive what is written, and wait until it is there."""
        # Something to archive: a new segment is not switched.
        self.execute("SELECT pg_create_restore_point('all')")
        segment = self.execute("SELECT pg_walfile_name(pg_switch_wal())")
        wait_until((self.archive / segment).exists)

    def drill(self, target: str, folder: Path, **environment: str) -> "subprocess.CompletedProcess[str]":
        """Run the script under the server's account."""
        return subprocess.run(
            [str(SCRIPT), *([target] if target else [])],
            env={
                "PATH": f"{programs()}{os.pathsep}{os.environ['PATH']}",
                "FOLDER": str(folder),
                "RESTORE": _RESTORE.format(base=self.base, archive=self.archive),
                **environment,
            },
            cwd="/",
            user=self.data.stat().st_uid,
            capture_output=True,
            text=True,
            timeout=WAIT_SECONDS,
            check=False,
        )


@pytest.fixture
def primary() -> Iterator[Archiving]:
    # Not in pytest's folder: another run of pytest closes that to the account which the server runs as.
    with tempfile.TemporaryDirectory(prefix="psi-drill-") as folder:
        give_to_account(Path(folder))
        server = Archiving(Path(folder))
        server.begin()
        try:
            yield server
        finally:
            server.leave()


def place(server: Archiving, folder: Path) -> Place:
    return Place(server.url(SERVICE_ROLE), server.url(OWNER_ROLE), folder / "documents")


def record(where: Place, user: str) -> None:
    """Record a conversion, of which the feed tells."""
    with closing(Writer(where.serving)) as writer:
        writer.record(user)
        writer.commit()


@contextmanager
def restored(server: Archiving, target: str, folder: Path) -> Iterator[Place]:
    """The database as it was then, on a server of its own."""
    done = server.drill(target, folder, KEEP="1")
    try:
        assert done.returncode == 0, done.stdout + done.stderr
        serving, owner = (f"postgresql://{role}@/psi?host={folder}" for role in (SERVICE_ROLE, OWNER_ROLE))
        yield Place(serving, owner, server.folder / "documents")
    finally:
        server.run("pg_ctl", "-D", str(folder / "data"), "-m", "immediate", "-w", "stop")


def test_a_drill_restores_to_a_moment_and_says_how_long_it_took(primary: Archiving, tmp_path: Path) -> None:
    service = place(primary, tmp_path)
    service.manage("migrate", "--verbosity", "0")
    primary.back_up()
    service.manage("create_partner", "acme", "--name", "Acme Inc.")
    target = primary.execute("SELECT clock_timestamp()")
    service.manage("create_partner", "later", "--name", "Later Inc.")
    primary.archive_all()

    folder = primary.folder / "drill"
    done = primary.drill(target, folder)
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(rf"^Restored to {re.escape(target)} after \d+ s\.$", done.stdout, re.MULTILINE)
    assert "users: 0\n" in done.stdout
    assert not folder.exists()

    with restored(primary, target, folder) as then:
        assert [partner["slug"] for partner in json.loads(then.manage("list_partners", "--json"))["partners"]] == [
            "acme"
        ]


def test_a_drill_beyond_the_archive_says_so(primary: Archiving) -> None:
    primary.back_up()
    primary.archive_all()
    done = primary.drill("2199-01-01 00:00:00+00", primary.folder / "drill")
    assert done.returncode == 1
    assert "recovery ended before configured recovery target was reached" in done.stderr
    assert "the archive has no later commit yet" in done.stderr


def test_what_a_partner_sees_of_a_restore_to_a_moment(primary: Archiving, tmp_path: Path) -> None:
    before = place(primary, tmp_path)
    before.manage("migrate", "--verbosity", "0")
    before.manage("create_partner", "acme", "--name", "Acme Inc.")
    key = json.loads(before.manage("issue_api_key", "acme", "--json"))
    primary.back_up()
    kept, lost = factories.user_body(), factories.user_body()
    key_of_kept, key_of_lost = str(uuid.uuid4()), str(uuid.uuid4())

    def client_of(server: Server) -> PartnerClient:
        return PartnerClient(key["apiKey"], key["secret"], server.transport)

    def events(client: PartnerClient, cursor: str = "") -> dict[str, Any]:
        reply = client.get("/v1/events" + (f"?cursor={cursor}" if cursor else ""))
        assert reply.status == 200, reply.body
        found: dict[str, Any] = reply.json()
        return found

    with serving(**before.environment) as server, delivering(tmp_path / "log", **before.environment):
        client = client_of(server)
        user = client.post("/v1/users", kept, key=key_of_kept).json()
        record(before, user["userId"])
        wait_until(lambda: len(events(client)["items"]) == 1)
        target = primary.execute("SELECT clock_timestamp()")
        assert client.post("/v1/users", lost, key=key_of_lost).status == 201
        record(before, user["userId"])
        wait_until(lambda: len(events(client)["items"]) == 2)
        seen = events(client)
    primary.archive_all()

    with restored(primary, target, primary.folder / "restored") as after:
        jump = next(sql for sql in re.findall(r"```sql\n(.*?)```", RUNBOOK, re.DOTALL) if "1000000000" in sql)
        with psycopg.connect(after.owner) as connection:
            connection.execute(jump.encode())
        with serving(**after.environment) as server, delivering(tmp_path / "log", **after.environment):
            client = client_of(server)
            # What was acknowledged before the moment is replayed, and what came after it is done anew.
            assert client.post("/v1/users", kept, key=key_of_kept).json() == user
            assert client.get(f"/v1/users/{lost['externalId']}").status == 404
            assert client.post("/v1/users", lost, key=key_of_lost).status == 201
            record(after, user["userId"])
            # A cursor of later than the moment skips nothing that happens now.
            wait_until(lambda: len(events(client, str(seen["nextCursor"]))["items"]) == 1)
            fresh = events(client, str(seen["nextCursor"]))["items"]
            assert {item["eventId"] for item in fresh}.isdisjoint({item["eventId"] for item in seen["items"]})
            assert [item["eventId"] for item in events(client)["items"]] == [
                seen["items"][0]["eventId"],
                fresh[0]["eventId"],
            ]
