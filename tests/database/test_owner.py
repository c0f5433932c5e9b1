"""Triggers restrict even the owner of the tables."""

import secrets
from collections.abc import Iterator
from typing import Any

import pytest
from django.db import connections, transaction
from django.db.utils import IntegrityError

from core.database import serving_role
from tests import factories
from tests.support.client import in_process
from users.models import StatusChange, User

TABLES = ("users_userevent", "users_statuschange", "transactions_conversion", "users_user")


def run(statement: str) -> None:
    with transaction.atomic(using=serving_role.OWNER), connections[serving_role.OWNER].cursor() as cursor:
        cursor.execute(statement)


@pytest.fixture(scope="module")
def rows(django_db_setup: None, django_db_blocker: Any) -> Iterator[None]:
    """A row in each table, committed, so that the owner's session sees them."""
    with django_db_blocker.unblock():
        partner = factories.PartnerFactory.create(slug=f"owner-{secrets.token_hex(3)}")
        client = factories.client_of(partner, in_process)
        assert client.post("/v1/users", factories.user_body()).status == 201
        user = User.objects.get(partner=partner)
        reviewer = factories.StaffFactory.create()
        StatusChange.objects.create(
            user=user, from_status="pendingCompliance", to_status="active", by=reviewer, reason="why"
        )
        factories.ConversionFactory.create(user=user)
        yield


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("statement", ["DELETE FROM {}", "TRUNCATE {} CASCADE"])
def test_rows_are_not_removed(rows: None, table: str, statement: str) -> None:
    with pytest.raises(IntegrityError, match="kept for good"):
        run(statement.format(table))


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("UPDATE users_userevent SET city = ''", "kept for good"),
        ("UPDATE users_statuschange SET reason = 'other'", "kept for good"),
        ("UPDATE transactions_conversion SET rate = 2", "kept for good"),
        ("UPDATE transactions_conversion SET reaches_threshold = true", "kept for good"),
        ("UPDATE users_user SET external_id = 'other'", "does not change"),
        ("UPDATE users_user SET created_at = now()", "does not change"),
        ("UPDATE users_user SET status = 'closed' WHERE status = 'active'", "moves by a row"),
        ("UPDATE users_user SET status_since = status_since - interval '6 years'", "what its decision says"),
        ("UPDATE users_user SET status_reason_code = 'duplicate'", "what its decision says"),
        ("UPDATE staff_staff SET username = 'other'", "a name does not change"),
    ],
)
def test_rows_are_not_rewritten(rows: None, statement: str, message: str) -> None:
    with pytest.raises(IntegrityError, match=message):
        run(statement)


def test_a_row_moves_the_status_once(rows: None) -> None:
    """Not again after the row that moved it back, in the same transaction."""
    decide = (
        "INSERT INTO users_statuschange (user_id, from_status, to_status, by_id, reason, reason_code)"
        " SELECT id, '{}', '{}', (SELECT min(id) FROM staff_staff), 'why', '' FROM users_user"
    )
    with pytest.raises(IntegrityError, match="moves by a row"):
        run(
            ";".join(
                [
                    decide.format("active", "suspended"),
                    decide.format("suspended", "active"),
                    "UPDATE users_user SET status = 'suspended'",
                ]
            )
        )


def test_a_user_begins_as_pending(rows: None) -> None:
    with pytest.raises(IntegrityError, match="begins as pendingCompliance"):
        run(
            "INSERT INTO users_user SELECT (jsonb_populate_record(u, jsonb_build_object('id', gen_random_uuid(),"
            " 'external_id', 'another', 'status', 'active'))).* FROM users_user u LIMIT 1"
        )
