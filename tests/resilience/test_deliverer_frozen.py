"""A `deliver_events` that is frozen while it places events stops no feed: another one goes on."""

import os
import signal
import subprocess
from pathlib import Path
from typing import Any
from uuid import UUID

import psycopg
import pytest

from tests.resilience.cluster import own_cluster
from tests.support.delivering import delivering, start_delivering
from tests.support.watched import wait_until
from tests.support.writers import Writer, add_users

# Enough for a statement that is seen at work.
ROWS = 4000
# Less than idle_in_transaction_session_timeout (30 s), which would end a lock in the end; a start takes some of it.
SECONDS = 15

# The lock of a feed.
_LOCKED = "SELECT FROM pg_locks WHERE locktype = 'advisory' AND classid = 2 AND granted"


def record_for_all(writer: Writer, users: list[UUID]) -> None:
    """Insert a conversion of each user, by one statement, in a transaction that commits."""
    writer.execute(
        "INSERT INTO transactions_conversion (partner_id, user_id, conversion_id, created_at, from_currency,"
        " from_amount, to_currency, to_amount, rate) SELECT partner_id, id, gen_random_uuid(), now(), 'CAD', 1, 'USD',"
        " 0.7, 0.7 FROM users_user WHERE id = ANY(%s)",
        users,
    )
    writer.commit()


def freeze_at_work(process: "subprocess.Popen[bytes]", observer: psycopg.Connection[Any]) -> None:
    while observer.execute(_LOCKED).fetchone() is None:
        assert process.poll() is None
    os.kill(process.pid, signal.SIGSTOP)


@pytest.mark.parametrize("_number", range(2))
def test_a_frozen_deliverer_stops_no_feed(_number: int, tmp_path: Path) -> None:
    with own_cluster() as cluster:
        users, writer = add_users(cluster.url, "acme", ROWS), Writer(cluster.url)
        observer = psycopg.connect(cluster.url, autocommit=True)
        record_for_all(writer, users)
        frozen = start_delivering(tmp_path / "log", DATABASE_URL=cluster.url)
        try:
            freeze_at_work(frozen, observer)
            writer.record(users[0])
            writer.commit()
            with delivering(tmp_path / "log", DATABASE_URL=cluster.url):
                placed = "SELECT count(*) FROM events_event"
                wait_until(lambda: observer.execute(placed).fetchone() == (ROWS + 1,), seconds=SECONDS)
        finally:
            frozen.kill()
            frozen.wait()
            writer.close()
            observer.close()
