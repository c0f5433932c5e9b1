"""The look-up of an Idempotency-Key waits for the write that is under way: contract, section 12."""

import os
import random
import secrets
import time
import uuid
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from typing import Any, NamedTuple

import psycopg

from partners.models import IdempotencyRecord
from tests import factories
from tests.slow.live.conftest import blocked_by
from tests.support.client import PartnerClient, Response
from tests.support.watched import wait_until

# More in CI.
ROUNDS = int(os.environ.get("LOOKUP_ROUNDS") or 30)
# Those that end at random moments, with several look-ups each.
RANDOM_ROUNDS = ROUNDS * 3 // 5
# Those in which the client retries.
RETRIED_ROUNDS = max(ROUNDS // 5, 1)


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
            # The write has locked its key and waits for the user's row.
            holder.execute("SELECT FROM users_user WHERE external_id = %s FOR UPDATE", [body["externalId"]])
            write = pool.submit(writer.patch, path, {"city": f"Ottawa {number}"}, key=key)
            wait_until(lambda: blocked_by(holder, observer))
            lookup = pool.submit(reader.get, f"/v1/idempotency-keys/{key}")
            if number % 2:
                wait_until(lambda: _waiting_for_a_key(observer) == 1)
            holder.rollback()
            assert (write.result().status, lookup.result().status) == (200, 200)
            assert lookup.result().json()["status"] == 200


def test_a_write_that_waits_for_another_one_is_under_way(
    clients: tuple[PartnerClient, PartnerClient], session: Callable[[], psycopg.Connection[Any]]
) -> None:
    writer, reader = clients
    body = factories.user_body()
    path = f"/v1/users/{body['externalId']}"
    writer.post("/v1/users", body)
    holder, observer = session(), session()
    observer.autocommit = True
    with ThreadPoolExecutor(3) as pool:
        for number in range(RETRIED_ROUNDS):
            key, change = str(uuid.uuid4()), {"city": f"Ottawa {number}"}
            holder.execute("SELECT FROM users_user WHERE external_id = %s FOR UPDATE", [body["externalId"]])
            write = pool.submit(writer.patch, path, change, key=key)
            wait_until(lambda: blocked_by(holder, observer))
            retry = pool.submit(writer.patch, path, change, key=key)
            wait_until(lambda: _waiting_for_a_key(observer) == 1)
            lookup = pool.submit(reader.get, f"/v1/idempotency-keys/{key}")
            wait_until(lambda: _waiting_for_a_key(observer) == 2)
            # The first attempt fails: of the two that wait for it, the retry is the write under way.
            observer.execute("SELECT pg_terminate_backend(%s)", blocked_by(holder, observer))
            assert write.result().status == 503
            wait_until(lambda: blocked_by(holder, observer))
            holder.rollback()
            assert (retry.result().status, lookup.result().status) == (200, 200)


def _waiting_for_a_key(observer: psycopg.Connection[Any]) -> int:
    """The number of sessions that wait for a key."""
    found = observer.execute(
        "SELECT FROM pg_stat_activity WHERE cardinality(pg_blocking_pids(pid)) > 0 AND datname = current_database()"
        " AND query LIKE '%pg_advisory_xact_lock(%'"
    )
    return found.rowcount


class LookUp(NamedTuple):
    """A look-up, and whether it found the write."""

    sent_at: datetime
    found: bool


def look_up_until(ended: Callable[[], bool], reader: PartnerClient, key: str, chance: random.Random) -> list[LookUp]:
    """Look a key up at random moments, and once after the end."""
    made = []
    is_last = False
    while not is_last:
        time.sleep(chance.uniform(0, 0.005))
        is_last = ended()
        sent_at = datetime.now(UTC)
        response = reader.get(f"/v1/idempotency-keys/{key}")
        assert response.status in {200, 404}
        made.append(LookUp(sent_at, response.status == 200))
    return made


def test_at_random_moments_a_write_that_was_answered_is_never_not_found(
    clients: tuple[PartnerClient, PartnerClient],
) -> None:
    """A request is under way once it has locked its key, which no client sees: before, it may be in the network."""
    seed = secrets.randbelow(10**9)
    chance = random.Random(seed)
    body = factories.user_body()
    path = f"/v1/users/{body['externalId']}"
    clients[0].post("/v1/users", body)

    def write(key: str, number: int) -> Response:
        time.sleep(chance.uniform(0, 0.01))
        # Every third is refused, after it has locked the key.
        return clients[number % 2].patch(path, {"city": f"City {number}" if number % 3 else ""}, key=key)

    with ThreadPoolExecutor(3) as pool:
        for number in range(RANDOM_ROUNDS):
            key = str(uuid.uuid4())
            writing = pool.submit(write, key, number)
            looking = [pool.submit(look_up_until, writing.done, reader, key, chance) for reader in clients]
            looked_up = [each.result() for each in looking]
            assert writing.result().status == (200 if number % 3 else 400)
            record = IdempotencyRecord.objects.filter(key=key).first()
            assert (record is not None) == bool(number % 3)
            for made in looked_up:
                found = [one.found for one in made]
                # Once found, it stays so; and after its response it is found.
                assert found == sorted(found), f"seed {seed}, round {number}"
                assert found[-1] == (record is not None)
                if record is not None:
                    late = [one.found for one in made if one.sent_at > record.completed_at]
                    assert all(late), f"seed {seed}, round {number}"
