"""A migration that widens columns does not break connections with prepared statements."""

import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import psycopg
import pytest
from django.db import connections
from psycopg import sql as composed

from core.database import serving_role
from partners.models import Partner
from tests import factories
from tests.conftest import database_url
from tests.slow.live.conftest import Server, serving
from tests.support.client import PartnerClient, Response
from users.models import User

Alter = Callable[[str, str, str], None]

TRIGGERS = """
    SELECT tgname, pg_get_triggerdef(oid) FROM pg_trigger WHERE tgrelid = %s::regclass AND NOT tgisinternal
"""
TYPE_OF = """
    SELECT format_type(atttypid, atttypmod) FROM pg_attribute WHERE attrelid = %s::regclass AND attname = %s
"""


def set_type(table: str, column: str, new: str) -> str:
    """Changes a column's type as the owner; its type before. Triggers that name the column would forbid it."""
    with psycopg.connect(database_url(serving_role.OWNER)) as owner:
        (before,) = owner.execute(TYPE_OF, [table, column]).fetchone() or ("",)
        triggers = owner.execute(TRIGGERS, [table]).fetchall()
        names = composed.Identifier(table), composed.Identifier(column)
        for name, _ in triggers:
            owner.execute(composed.SQL("DROP TRIGGER {} ON {}").format(composed.Identifier(name), names[0]))
        owner.execute(composed.SQL("ALTER TABLE {} ALTER COLUMN {} TYPE ").format(*names) + composed.SQL(new))
        for _, definition in triggers:
            owner.execute(definition)
    return str(before)


@contextmanager
def restoring() -> Iterator[Alter]:
    changed: list[tuple[str, str, str]] = []

    def alter(table: str, column: str, new: str) -> None:
        changed.append((table, column, set_type(table, column, new)))

    try:
        yield alter
    finally:
        for table, column, before in changed:
            set_type(table, column, before)
        # This process has prepared statements too, which other tests use inside a transaction.
        connections.close_all()


@pytest.fixture(scope="module")
def server(django_db_setup: None) -> Iterator[Server]:
    """A service for this file alone: when a column is as before, its connections have stale plans again.

    Each would cost a later request its first attempt.
    """
    with serving() as running:
        yield running


@pytest.fixture
def api(partner: Partner, server: Server) -> PartnerClient:
    return factories.client_of(partner, server.transport)


@pytest.fixture
def alter(partner: Partner) -> Iterator[Alter]:
    """Changes the type of a column, until the test ends."""
    with restoring() as change:
        yield change


@pytest.fixture
def user(api: PartnerClient, partner: Partner) -> User:
    body = factories.user_body()
    assert api.post("/v1/users", body).status == 201
    found = User.objects.get(partner=partner, external_id=body["externalId"])
    factories.add_conversions(found, [found.created_at])
    return found


def often(send: Callable[[], Response]) -> set[int]:
    """The statuses of several responses, so that more than one of the server's threads gives some."""
    return {send().status for _ in range(8)}


@pytest.mark.parametrize("with_key", [False, True], ids=["no key", "idempotency key"])
def test_writes_go_on_and_take_effect_once(
    api: PartnerClient, partner: Partner, alter: Alter, *, with_key: bool
) -> None:
    def key() -> str | None:
        return str(uuid.uuid4()) if with_key else None

    def create() -> Response:
        return api.post("/v1/users", factories.user_body(), key=key())

    user = str(factories.user_body()["externalId"])
    assert api.post("/v1/users", factories.user_body(externalId=user)).status == 201
    cities = iter(f"City {number}" for number in range(100))

    def update() -> Response:
        return api.patch(f"/v1/users/{user}", {"city": next(cities)}, key=key())

    assert (often(create), often(update)) == ({201}, {200})
    alter("users_user", "city", "varchar(200)")
    alter("users_user", "status", "varchar(200)")
    assert (often(update), often(create)) == ({200}, {201})
    assert partner.users.count() == 17
    assert partner.users.get(external_id=user).city == "City 15"


def test_a_stored_response_is_looked_up_and_replayed(api: PartnerClient, partner: Partner, alter: Alter) -> None:
    body, key = factories.user_body(), str(uuid.uuid4())
    first = api.post("/v1/users", body, key=key)
    assert often(lambda: api.post("/v1/users", body, key=key)) == {201}
    assert often(lambda: api.get(f"/v1/idempotency-keys/{key}")) == {200}
    alter("partners_idempotencyrecord", "location", "varchar(5000)")
    alter("partners_idempotencyrecord", "path", "varchar(4000)")
    assert often(lambda: api.get(f"/v1/idempotency-keys/{key}")) == {200}
    again = api.post("/v1/users", body, key=key)
    assert (again.status, again.body, again.header("Idempotent-Replayed")) == (201, first.body, "true")
