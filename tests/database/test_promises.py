"""The database's constraints and triggers, tried in SQL under the serving role."""

import re
import secrets
from collections.abc import Iterator, Mapping
from itertools import product
from typing import Any
from uuid import uuid4

import pytest
from django.db import DatabaseError, connection, connections, transaction
from django.db.utils import IntegrityError, ProgrammingError

from core.database import serving_role
from events.models import WebhookEndpoint
from partners.models import Mode, Partner
from tests import factories
from tests.support.events import place_events
from users.models import User, UserEvent

HISTORY = (
    *("users_userevent", "users_statuschange", "users_casenote", "users_fileentry"),
    *("transactions_conversion", "transactions_document"),
)
# What a hostile or careless session might set first.
SWITCHES = {
    "as it is": "SELECT 1",
    "pgtrigger.ignore set": "SELECT set_config('pgtrigger.ignore', (SELECT array_agg(tgname)::text FROM pg_trigger),"
    " true)",
}


def run(statement: str, *parameters: Any) -> None:
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(statement, parameters)


def insert(table: str, values: Mapping[str, Any]) -> None:
    names, marks = ", ".join(values), ", ".join(["%s"] * len(values))
    run(f"INSERT INTO {table} ({names}) VALUES ({marks})", *values.values())


def move(user: User, to_status: str, *, from_status: str = "pendingCompliance", **values: Any) -> None:
    """Insert a status change with these values."""
    move = {"user_id": user.pk, "from_status": from_status, "to_status": to_status, "reason": "why"}
    insert("users_statuschange", move | {"by_id": factories.StaffFactory.create().pk} | values)


CHANGES = ("UPDATE {} SET id = id", "DELETE FROM {}", "TRUNCATE {}", "TRUNCATE {} CASCADE", "DROP TABLE {}")


@pytest.mark.parametrize("switch", SWITCHES.values(), ids=SWITCHES)
def test_the_serving_role_cannot_alter_append_only_tables(db: None, switch: str) -> None:
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(switch)
        for table, change in product(HISTORY, CHANGES):
            key = "pgh_id" if table == "users_userevent" else "id"
            statement = change.format(table).replace("id = id", f"{key} = {key}")
            assert_refused(ProgrammingError, r"permission denied|must be owner", statement)


def assert_refused(kind: type[DatabaseError], match: str, statement: str, *parameters: Any) -> None:
    said = "not refused"
    try:
        run(statement, *parameters)
    except kind as error:
        said = str(error)
    assert re.search(match, said), f"{statement}: {said}"


FORBIDDEN = (
    "SET session_replication_role = replica",
    "ALTER TABLE users_user DISABLE TRIGGER ALL",
    "ALTER TABLE users_userevent DISABLE TRIGGER USER",
    "CREATE TABLE mine (a int)",
    "ALTER TABLE users_user ADD COLUMN mine int",
    "CREATE FUNCTION mine() RETURNS int LANGUAGE sql AS 'SELECT 1'",
    "SET ROLE psi_owner",
    "CREATE ROLE mine",
    "DELETE FROM users_user",
    "DELETE FROM staff_staff",
    "DELETE FROM partners_partner",
    "SELECT FROM django_admin_log",
    "INSERT INTO django_admin_log (object_repr) VALUES ('one')",
    "UPDATE users_user SET status = 'active'",
    "UPDATE users_user SET external_id = 'other'",
    "UPDATE users_user SET updated_at = now()",
    "INSERT INTO users_user (id, status) VALUES (gen_random_uuid(), 'active')",
    "INSERT INTO users_user (id, created_at) VALUES (gen_random_uuid(), 'infinity')",
    "TRUNCATE partners_idempotencyrecord",
    "INSERT INTO users_userevent (pgh_created_at, pgh_label) VALUES (now(), 'forged')",
    "INSERT INTO django_migrations (app, name, applied) VALUES ('users', 'x', now())",
)


def test_the_serving_role_may_not_do_these(db: None) -> None:
    for statement in FORBIDDEN:
        assert_refused(DatabaseError, r"permission denied|must be owner|only roles with", statement)


@pytest.mark.parametrize("switch", SWITCHES.values(), ids=SWITCHES)
def test_every_change_is_in_the_history_whatever_the_session_sets(switch: str, user: User) -> None:
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(switch)
        cursor.execute("CREATE TEMPORARY TABLE users_userevent (LIKE public.users_userevent)")
        cursor.execute("UPDATE users_user SET city = 'Elsewhere' WHERE id = %s", [user.pk])
        cursor.execute("DROP TABLE pg_temp.users_userevent")
    assert list(UserEvent.objects.filter(pgh_obj=user).values_list("city", flat=True)) == ["Toronto", "Elsewhere"]


@pytest.mark.parametrize(
    ("start", "end", "said"),
    [
        ("active", "closed", "not in the status"),
        ("pendingCompliance", "closed", "does not move between"),
        ("pendingCompliance", "suspended", "does not move between"),
        ("pendingCompliance", "pendingCompliance", "does not move between"),
    ],
)
def test_a_status_change_begins_where_the_user_is_and_moves_as_the_contract_allows(
    user: User, start: str, end: str, said: str
) -> None:
    with pytest.raises(IntegrityError, match=said):
        move(user, end, from_status=start)


@pytest.mark.parametrize("reason", ["", " \t\n"])
def test_a_decision_has_a_reason_that_is_not_blank(user: User, reason: str) -> None:
    with pytest.raises(DatabaseError, match="status_change_reason_given"):
        move(user, "active", reason=reason)


@pytest.mark.django_db
@pytest.mark.parametrize("model_factory", [factories.ConversionFactory, factories.DocumentFactory])
@pytest.mark.parametrize("mode", Mode)
def test_a_row_of_a_user_is_of_its_users_partner_and_mode(model_factory: Any, mode: Mode) -> None:
    user = factories.UserFactory.create(partner__mode=mode)
    for other in ({"is_sandbox": not user.is_sandbox}, {"partner": factories.PartnerFactory.create(mode=mode)}):
        with pytest.raises(IntegrityError, match="user_of_partner"), transaction.atomic():
            model_factory.create(user=user, **other)


def test_a_status_change_has_the_users_mode_and_the_time_of_its_insert_and_moves_the_user(user: User) -> None:
    move(user, "active", is_sandbox=True, created_at="2020-01-01")
    user.refresh_from_db()
    change = user.status_changes.get()
    assert (user.status, change.is_sandbox, change.created_at.year > 2020) == ("active", False, True)


def assert_outside(table: str, factory: Any, user: User, value: dict[str, object], **columns: object) -> None:
    """A row of the factory's columns with this value is outside the contract."""
    values = factories.columns_of(factory, user=user) | columns
    del values["user"], values["partner"]
    with pytest.raises(IntegrityError, match="violates check constraint"):
        insert(table, values | {"user_id": user.pk, "partner_id": user.partner_id} | value)


def test_a_conversion_outside_the_contract_is_refused(user: User, subtests: pytest.Subtests) -> None:
    for column, value in [
        ("from_amount", "NaN"),
        ("from_amount", "Infinity"),
        ("from_amount", "-1"),
        ("from_amount", "100000000000000000000"),
        ("to_amount", "0.0000000000000000001"),
        ("rate", "0"),
        ("from_currency", "cad"),
        ("to_currency", "US"),
        ("type", "transfer"),
        ("conversion_id", "a b"),
        ("tiebreak", "-1"),
        ("created_at", "infinity"),
        ("created_at", "0044-03-15 BC"),
    ]:
        with subtests.test(f"{column} {value}"):
            conversion = factories.ConversionFactory
            assert_outside("transactions_conversion", conversion, user, {column: value}, conversion_id="cv-1")


def test_a_date_of_birth_that_no_page_could_read_is_refused(user: User) -> None:
    for born in ("infinity", "-infinity", "10000-01-01", "1899-12-31"):
        statement = f"UPDATE users_user SET date_of_birth = '{born}' WHERE id = %s"
        assert_refused(IntegrityError, "user_date_of_birth_plausible", statement, user.pk)


def test_one_conversion_id_is_there_once_for_a_partner(user: User) -> None:
    factories.ConversionFactory.create(user=user, conversion_id="cv-1")
    with pytest.raises(IntegrityError, match="conversion_partner_id"):
        factories.ConversionFactory.create(user=user, conversion_id="cv-1")


def test_a_document_outside_the_contract_is_refused(user: User, subtests: pytest.Subtests) -> None:
    values: list[tuple[str, object]] = [
        ("type", "letter"),
        *(("title", title) for title in ("", "a\u0007b", "a\u0085b")),
        *(("content_type", one) for one in ("text/html; charset=utf-8", "text/html\r\nX-Other: 1", "")),
        ("size_bytes", 0),
        ("sha256", b"\x00" * 31),
        ("tiebreak", -1),
        ("created_at", "infinity"),
        ("created_at", "0044-03-15 BC"),
    ]
    for column, value in values:
        with subtests.test(f"{column} {value!r}"):
            document = factories.DocumentFactory
            assert_outside("transactions_document", document, user, {column: value}, document_id=uuid4())


@pytest.mark.parametrize("column", ["document_id", "storage_name"])
def test_no_two_documents_share_an_id_or_a_file(user: User, column: str) -> None:
    first = factories.DocumentFactory.create(user=user)
    with pytest.raises(IntegrityError, match=column):
        factories.DocumentFactory.create(user=user, **{column: getattr(first, column)})


def test_an_event_that_is_kept_cannot_be_purged(user: User) -> None:
    factories.decide(user, "active")
    place_events()
    with connection.cursor() as cursor:
        cursor.execute("SELECT purged FROM events_purge(%s, 1000)", [user.partner_id])
        assert cursor.fetchone() == (0,)


@pytest.mark.parametrize("url", ["http://hooks.example.com/", "https://a@hooks.example.com/", "ftp://example.com", ""])
def test_a_webhook_has_a_url_of_https(partner: Partner, url: str) -> None:
    with pytest.raises(IntegrityError, match="webhook_url_https"), transaction.atomic():
        WebhookEndpoint.objects.create(partner=partner, url=url)


# Triggers restrict even the owner of the tables

TABLES = ("users_userevent", "users_statuschange", "transactions_conversion", "users_user")


def run_as_owner(statement: str) -> None:
    with transaction.atomic(using=serving_role.OWNER), connections[serving_role.OWNER].cursor() as cursor:
        cursor.execute(statement)


@pytest.fixture(scope="module")
def rows(django_db_setup: None, django_db_blocker: Any) -> Iterator[None]:
    """A row in each table, committed, so that the owner's session sees them."""
    with django_db_blocker.unblock():
        partner = factories.PartnerFactory.create(slug=f"owner-{secrets.token_hex(3)}")
        factories.ConversionFactory.create(user=factories.UserFactory.create(partner=partner, status="active"))
        yield


def assert_refused_to_the_owner(statement: str, message: str) -> None:
    with pytest.raises(IntegrityError, match=message):
        run_as_owner(statement)


def test_rows_are_not_removed(rows: None, subtests: pytest.Subtests) -> None:
    for table, statement in product(TABLES, ("DELETE FROM {}", "TRUNCATE {} CASCADE")):
        with subtests.test(statement.format(table)):
            assert_refused_to_the_owner(statement.format(table), "kept for good")


REWRITES = {
    "UPDATE users_userevent SET city = ''": "kept for good",
    "UPDATE users_statuschange SET reason = 'other'": "kept for good",
    "UPDATE transactions_conversion SET rate = 2": "kept for good",
    "UPDATE transactions_conversion SET reaches_threshold = true": "kept for good",
    "UPDATE users_user SET external_id = 'other'": "does not change",
    "UPDATE users_user SET created_at = now()": "does not change",
    "UPDATE users_user SET status = 'closed' WHERE status = 'active'": "moves by a row",
    "UPDATE users_user SET status_since = status_since - interval '6 years'": "what its decision says",
    "UPDATE users_user SET status_reason_code = 'duplicate'": "what its decision says",
    "UPDATE staff_staff SET username = 'other'": "a name does not change",
}


def test_rows_are_not_rewritten(rows: None, subtests: pytest.Subtests) -> None:
    for statement, message in REWRITES.items():
        with subtests.test(statement):
            assert_refused_to_the_owner(statement, message)


def test_a_row_moves_the_status_once(rows: None) -> None:
    """Not again after the row that moved it back, in the same transaction."""
    decide = (
        "INSERT INTO users_statuschange (user_id, from_status, to_status, by_id, reason, reason_code)"
        " SELECT id, '{}', '{}', (SELECT min(id) FROM staff_staff), 'why', '' FROM users_user"
    )
    moves = (decide.format("active", "suspended"), decide.format("suspended", "active"))
    with pytest.raises(IntegrityError, match="moves by a row"):
        run_as_owner(";".join((*moves, "UPDATE users_user SET status = 'suspended'")))


def test_a_user_begins_as_pending(rows: None) -> None:
    with pytest.raises(IntegrityError, match="begins as pendingCompliance"):
        run_as_owner(
            "INSERT INTO users_user SELECT (jsonb_populate_record(u, jsonb_build_object('id', gen_random_uuid(),"
            " 'external_id', 'another', 'status', 'active'))).* FROM users_user u LIMIT 1"
        )
