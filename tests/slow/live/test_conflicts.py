"""Writes that PostgreSQL rolls back for a conflict are retried."""

import time
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from typing import Any

import psycopg
import pytest
from django.db import connections

from core.database import serving_role, statements
from partners.models import IdempotencyRecord, Mode, Partner
from tests import factories
from tests.slow.live.conftest import Server, blocked_by, serving
from tests.support.client import PartnerClient
from tests.support.watched import wait_until
from users.models import User, UserEvent

Session = Callable[[], psycopg.Connection[Any]]

LOCK_USER = "SELECT FROM users_user WHERE external_id = %s FOR UPDATE"
TRY_LOCK_KEY = "SELECT pg_try_advisory_xact_lock(1, hashtext(%s || '/' || %s))"
RECORD_CONVERSION = """
    INSERT INTO transactions_conversion (partner_id, user_id, is_sandbox, conversion_id, created_at, type,
                                         from_currency, from_amount, to_currency, to_amount, rate)
    SELECT partner_id, id, is_sandbox, 'cv-1', '2026-01-01T00:00:00Z', 'conversion', 'CAD', 100, 'USD', 71.5, 0.715
      FROM users_user
     WHERE external_id = %s
"""
LOCK_KEY = TRY_LOCK_KEY.replace("_try", "")


def wait_for_waiting(session: Session, blocker: psycopg.Connection[Any]) -> None:
    observer = session()
    observer.autocommit = True
    wait_until(lambda: blocked_by(blocker, observer))


def test_the_victim_of_a_deadlock_is_done_again(
    clients: tuple[PartnerClient, PartnerClient], partner: Partner, session: Session
) -> None:
    body = factories.user_body()
    path = f"/v1/users/{body['externalId']}"
    clients[0].post("/v1/users", body)
    for attempt in count():
        key, city, other = str(uuid.uuid4()), f"Ottawa {attempt}", session()
        other.execute(LOCK_USER, [body["externalId"]])
        with ThreadPoolExecutor(1) as pool:
            # It has locked its key and waits for the user; the other has the user and waits for the key.
            begun = time.monotonic()
            response = pool.submit(clients[0].patch, path, {"city": city}, key=key)
            wait_for_waiting(session, other)
            assert other.execute(TRY_LOCK_KEY, [str(partner.pk), key]).fetchone() == (False,)
            try:
                other.execute(LOCK_KEY, [str(partner.pk), key])
            except psycopg.errors.DeadlockDetected:
                is_victim = False
            else:
                # Only a request that was undone has unlocked the key.
                is_victim = time.monotonic() - begun < statements.RETRY_WITHIN_SECONDS
            other.rollback()
            status = response.result().status
        # On a busy machine the other may be the victim, or the request too late to be done again: then once more.
        if is_victim:
            break
    assert status == 200
    assert User.objects.get(partner=partner).city == city
    assert IdempotencyRecord.objects.filter(partner=partner, key=key, status=200).count() == 1
    assert UserEvent.objects.filter(pgh_obj__partner=partner, city=city).count() == 1


@pytest.fixture
def serializable_server(django_db_setup: None) -> Iterator[Server]:
    """A service whose transactions fail rather than see what was committed after they began."""
    name = connections[serving_role.OWNER].settings_dict["NAME"]
    setting = f"ALTER DATABASE {name} {{}} default_transaction_isolation"
    with connections[serving_role.OWNER].cursor() as cursor:
        cursor.execute(setting.format("SET") + " = 'repeatable read'")
    try:
        with serving() as server:
            yield server
    finally:
        with connections[serving_role.OWNER].cursor() as cursor:
            cursor.execute(setting.format("RESET"))


def test_a_write_that_another_overtook_is_done_again(
    partner: Partner, serializable_server: Server, session: Session
) -> None:
    api = factories.client_of(partner, serializable_server.transport)
    for key in (None, str(uuid.uuid4())):
        overtake(api, session, key)


def overtake(api: PartnerClient, session: Session, key: str | None) -> None:
    """Change a user while a write, whose signature is stored or key locked, waits for it."""
    body = factories.user_body()
    api.post("/v1/users", body)
    other = session()
    other.execute("UPDATE users_user SET city = 'Halifax' WHERE external_id = %s", [body["externalId"]])
    with ThreadPoolExecutor(1) as pool:
        response = pool.submit(api.patch, f"/v1/users/{body['externalId']}", {"firstName": "Augusta"}, key=key)
        wait_for_waiting(session, other)
        other.commit()
        assert response.result().status == 200
    user = User.objects.get(external_id=body["externalId"])
    assert (user.city, user.first_name) == ("Halifax", "Augusta")


def test_simultaneous_conversions_without_a_time_are_the_same(
    servers: tuple[Server, Server], partner: Partner, session: Session
) -> None:
    sandbox = factories.PartnerFactory.create(slug=f"{partner.slug}-sandbox", mode=Mode.SANDBOX)
    client = factories.client_of(sandbox, servers[0].transport)
    user = factories.user_body()
    client.post("/v1/users", user)
    sides = {"from": {"currency": "CAD", "amount": "100"}, "to": {"currency": "USD", "amount": "71.5"}, "rate": "0.715"}
    other = session()
    other.execute(LOCK_USER, [user["externalId"]])
    other.execute(RECORD_CONVERSION, [user["externalId"]])
    with ThreadPoolExecutor(1) as pool:
        body = {"items": [sides | {"conversionId": "cv-1"}]}
        response = pool.submit(client.post, f"/v1/sandbox/users/{user['externalId']}/transactions", body)
        wait_for_waiting(session, other)
        other.commit()
        assert response.result().status == 201
    assert response.result().json()["items"][0]["createdAt"] == "2026-01-01T00:00:00.000000Z"
