"""A dump restored into a new cluster, whose transaction ids are lower: feeds and cursors go on."""

import json
import os
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import psycopg

from config.embedded.server import OWNER_ROLE, SERVICE_ROLE, EmbeddedServer, programs
from partners.management.commands.call import Client
from tests.live.conftest import serving
from tests.resilience.delivering import delivering
from tests.resilience.test_backup import BACKUP, RESTORE, Place, run
from tests.support.watched import wait_until
from tests.support.writers import Writer, add_users

RECORDED, PUBLISHED = "user.transactionsRecorded", "user.documentPublished"


@contextmanager
def new_cluster(folder: Path) -> Iterator[Place]:
    """Run a cluster with both roles and an empty database."""
    server = EmbeddedServer(folder / "postgres")
    server.ensure_running()
    try:
        yield Place(server.url(SERVICE_ROLE), server.url(OWNER_ROLE), folder / "documents")
    finally:
        server.leave()


def use_up_transactions(place: Place, next_id: int) -> None:
    """Have the next transaction that writes get this id."""
    with psycopg.connect(place.serving, autocommit=True) as connection:
        while (row := connection.execute("SELECT pg_current_xact_id()::text::bigint").fetchone()) is not None:
            assert row[0] < next_id
            if row[0] == next_id - 1:
                return


def read(place: Place, key: dict[str, str], cursor: str = "") -> dict[str, Any]:
    """The feed after a cursor, once there are events, read from a service."""
    with delivering(place.documents.parent / "log", **place.environment), serving(**place.environment) as server:
        client = Client(f"http://127.0.0.1:{server.port}", key["apiKey"], key["secret"])

        def page() -> dict[str, Any]:
            reply = client.send("GET", f"/v1/events?limit=100&cursor={cursor}".removesuffix("&cursor="))
            assert reply.status == 200, reply.body
            found: dict[str, Any] = reply.json()
            return found

        with psycopg.connect(place.serving, autocommit=True) as connection:
            wait_until(lambda: connection.execute("SELECT FROM partners_outboxentry").fetchone() is None)
        return page()


def facts(page: dict[str, Any]) -> list[tuple[str, str, int | None]]:
    return [(item["type"], item["data"]["userId"], item["data"].get("count")) for item in page["items"]]


def test_a_feed_goes_on_after_a_restore(tmp_path: Path) -> None:
    path = {"PATH": f"{programs()}{os.pathsep}{os.environ['PATH']}"}
    with (
        # Not in pytest's folder: another run of pytest closes that to the account which the server runs as.
        tempfile.TemporaryDirectory() as one,
        tempfile.TemporaryDirectory() as other,
        new_cluster(Path(one)) as source,
        new_cluster(Path(other)) as target,
    ):
        source.manage("migrate", "--verbosity", "0")
        source.manage("create_partner", "acme", "--name", "Acme Inc.")
        key = json.loads(source.manage("issue_api_key", "acme", "--json"))
        ada, grace = (str(user) for user in add_users(source.serving, "acme", 2))
        # So that the new cluster has not come as far when the dump is restored.
        with psycopg.connect(source.serving, autocommit=True) as connection:
            for _ in range(3000):
                connection.execute("SELECT pg_current_xact_id()")
        with closing(Writer(source.serving)) as writer:
            for user in (ada, grace, ada):
                writer.record(user)
                writer.commit()
            before = read(source, key)
            writer.record(ada, 2)
            writer.publish(grace)
            writer.commit()
            writer.record(ada, 3)
            writer.commit()
        with psycopg.connect(source.serving) as connection:
            pending = connection.execute("SELECT transaction_id FROM partners_outboxentry ORDER BY id").fetchall()

        run([*BACKUP.split(), source.owner], path, cwd=tmp_path)
        run([*RESTORE.split(), target.owner, "psi.dump"], path, cwd=tmp_path)
        target.manage("setup_database_roles")
        with closing(Writer(target.serving)) as writer:
            use_up_transactions(target, pending[-1][0])
            writer.record(ada, 5)
            writer.commit()
            last = writer.connection.execute("SELECT max(transaction_id) FROM partners_outboxentry").fetchone()
        after = read(target, key, before["nextCursor"])
        again = read(target, key)

    assert last == pending[-1]
    assert facts(before) == [(RECORDED, ada, 1), (RECORDED, grace, 1), (RECORDED, ada, 1)]
    assert facts(after) == [
        (RECORDED, ada, 2),
        (PUBLISHED, grace, None),
        (RECORDED, ada, 3),
        (RECORDED, ada, 5),
    ]
    assert again["items"] == before["items"] + after["items"]
