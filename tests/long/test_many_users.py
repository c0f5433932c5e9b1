"""GET /v1/users: all of many users are paged exactly once while others are created (contract, section 12)."""

import os
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import psycopg
import pytest

from config.embedded.server import SUPERUSER
from partners.db import serving_role
from partners.models import Partner
from tests import factories
from tests.conftest import database_url
from tests.live.conftest import Server
from tests.resilience.load import KeptConnection
from tests.support.client import PartnerClient

# 100,000 in CI.
MANY = int(os.environ.get("MANY_USERS") or 10_000)
# A hundred at each instant: ties within pages and across their ends.
_INSERT = """
    INSERT INTO users_user (id, partner_id, external_id, email, first_name, last_name, date_of_birth, address_line1,
                            city, country, occupation, is_ciro_affiliate, status, created_at)
    SELECT gen_random_uuid(), %s, 'many-' || number, 'ada@example.com', 'Ada', 'Byron', '1990-12-10', '100 King St W',
           'Toronto', 'CA', 'Engineer', false, CASE WHEN number %% 3 = 0 THEN 'active' ELSE 'pendingCompliance' END,
           '2026-01-15T12:00Z'::timestamptz - number / 100 * interval '1 minute'
      FROM generate_series(1, %s) AS number
"""


@pytest.fixture
def many(partner: Partner) -> Partner:
    """The partner, with many users; without their history, which the triggers write."""
    url = database_url(serving_role.SERVING, SUPERUSER)
    with psycopg.connect(url, autocommit=True) as superuser:
        superuser.execute("SET session_replication_role = replica")
        superuser.execute(_INSERT, [partner.pk, MANY])
        superuser.execute("VACUUM (ANALYZE) users_user")
    return partner


def walk(client: PartnerClient, query: str) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = []
    cursor = ""
    while True:
        page = client.get(f"/v1/users?limit=100{query}{cursor}").json()
        items += page["items"]
        if page["nextCursor"] is None:
            return items
        cursor = f"&cursor={page['nextCursor']}"


def test_each_of_many_users_is_paged_once_while_others_are_created(
    many: Partner, servers: tuple[Server, Server], clients: tuple[PartnerClient, PartnerClient]
) -> None:
    key, ended = clients[0], threading.Event()
    wires = [KeptConnection(server.port) for server in servers]
    reader, writer = (PartnerClient(key.api_key, key.secret, wire) for wire in wires)

    def create() -> int:
        created = 0
        while not ended.is_set():
            assert writer.post("/v1/users", factories.user_body()).status == 201
            created += 1
        return created

    with ThreadPoolExecutor(1) as pool:
        creating = pool.submit(create)
        try:
            everybody, active = walk(reader, ""), walk(reader, "&status=active")
        finally:
            ended.set()
        assert creating.result() > 0
    for wire in wires:
        wire.close()
    found = [item["externalId"] for item in everybody]
    assert len(set(found)) == len(found)
    assert {f"many-{number}" for number in range(1, MANY + 1)} <= set(found)
    assert sorted(item["externalId"] for item in active) == sorted(f"many-{number}" for number in range(3, MANY + 1, 3))
