"""The look-up of an Idempotency-Key waits for the write that is under way: contract, section 12."""

import uuid
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import psycopg

from tests import factories
from tests.live.conftest import blocked_by
from tests.support.client import PartnerClient
from tests.support.watched import wait_until

ROUNDS = 500


def test_a_write_under_way_is_never_not_found(
    clients: tuple[PartnerClient, PartnerClient], session: Callable[[], psycopg.Connection[Any]]
) -> None:
    writer, reader = clients
    body = factories.user_body()
    path = f"/v1/users/{body['externalId']}"
    writer.post("/v1/users", body)
    holder, observer = session(), session()
    observer.autocommit = True
    with ThreadPoolExecutor(2) as pool:
        for number in range(ROUNDS):
            key = str(uuid.uuid4())
            # The write has claimed its key and waits for the user's row.
            holder.execute("SELECT FROM users_user WHERE external_id = %s FOR UPDATE", [body["externalId"]])
            write = pool.submit(writer.patch, path, {"city": f"Ottawa {number}"}, key=key)
            wait_until(lambda: blocked_by(holder, observer))
            lookup = pool.submit(reader.get, f"/v1/idempotency-keys/{key}")
            if number % 2:
                wait_until(lambda: _is_waiting_for_a_key(observer))
            holder.rollback()
            assert (write.result().status, lookup.result().status) == (200, 200)
            assert lookup.result().json()["status"] == 200


def _is_waiting_for_a_key(observer: psycopg.Connection[Any]) -> bool:
    found = observer.execute(
        "SELECT FROM pg_stat_activity WHERE cardinality(pg_blocking_pids(pid)) > 0"
        " AND query LIKE '%partners_idempotencyrecord%' AND datname = current_database()"
    )
    return found.rowcount >= 1
