"""The database's constraints and triggers, tried in SQL under the serving role."""

from collections.abc import Callable
from typing import Any
from uuid import uuid4

import pytest
from django.db import DatabaseError, connection, transaction
from django.db.utils import IntegrityError, ProgrammingError

from events.models import WebhookEndpoint
from partners.models import Mode, Partner
from tests import factories
from tests.support.client import Response
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


@pytest.fixture
def user(create_user: Callable[..., Response], partner: Partner) -> User:
    create_user()
    return User.objects.get(partner=partner)


@pytest.mark.parametrize("switch", SWITCHES.values(), ids=SWITCHES)
@pytest.mark.parametrize("table", HISTORY)
@pytest.mark.parametrize(
    "statement", ["UPDATE {} SET id = id", "DELETE FROM {}", "TRUNCATE {}", "TRUNCATE {} CASCADE", "DROP TABLE {}"]
)
def test_the_serving_role_cannot_alter_append_only_tables(db: None, switch: str, table: str, statement: str) -> None:
    key = "pgh_id" if table == "users_userevent" else "id"
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(switch)
        with pytest.raises(ProgrammingError, match=r"permission denied|must be owner"), transaction.atomic():
            cursor.execute(statement.format(table).replace("id = id", f"{key} = {key}"))


@pytest.mark.parametrize(
    "statement",
    [
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
    ],
)
def test_the_serving_role_may_not(db: None, statement: str) -> None:
    with pytest.raises(DatabaseError, match=r"permission denied|must be owner|only roles with"):
        run(statement)


@pytest.mark.parametrize("switch", SWITCHES.values(), ids=SWITCHES)
def test_every_change_is_in_the_history_whatever_the_session_sets(switch: str, user: User) -> None:
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(switch)
        cursor.execute("CREATE TEMPORARY TABLE users_userevent (LIKE public.users_userevent)")
        cursor.execute("UPDATE users_user SET city = 'Elsewhere' WHERE id = %s", [user.pk])
        cursor.execute("DROP TABLE pg_temp.users_userevent")
    assert list(UserEvent.objects.filter(pgh_obj=user).values_list("city", flat=True)) == ["Toronto", "Elsewhere"]


def test_a_status_change_must_begin_where_the_user_is(user: User) -> None:
    staff = factories.StaffFactory.create()
    with pytest.raises(IntegrityError, match="not in the status"):
        run(
            "INSERT INTO users_statuschange (user_id, from_status, to_status, by_id, reason)"
            " VALUES (%s, 'active', 'closed', %s, 'why')",
            user.pk,
            staff.pk,
        )


@pytest.mark.parametrize("status", ["closed", "suspended", "pendingCompliance"])
def test_a_status_change_moves_only_as_the_contract_allows(user: User, status: str) -> None:
    staff = factories.StaffFactory.create()
    with pytest.raises(IntegrityError, match="does not move between"):
        run(
            "INSERT INTO users_statuschange (user_id, from_status, to_status, by_id, reason)"
            " VALUES (%s, 'pendingCompliance', %s, %s, 'why')",
            user.pk,
            status,
            staff.pk,
        )


def test_a_conversion_belongs_to_its_users_own_partner(user: User) -> None:
    stranger = factories.PartnerFactory.create()
    with pytest.raises(IntegrityError, match="conversion_user_of_partner"):
        factories.ConversionFactory.create(user=user, partner=stranger)


@pytest.mark.django_db
@pytest.mark.parametrize("model_factory", [factories.ConversionFactory, factories.DocumentFactory])
@pytest.mark.parametrize("mode", Mode)
def test_a_row_of_a_user_is_of_its_users_mode(model_factory: Any, mode: Mode) -> None:
    user = factories.UserFactory.create(partner__mode=mode)
    with pytest.raises(IntegrityError, match="user_of_partner"):
        model_factory.create(user=user, is_sandbox=not user.is_sandbox)


def test_a_status_change_is_of_its_users_mode_whatever_is_inserted(user: User) -> None:
    staff = factories.StaffFactory.create()
    run(
        "INSERT INTO users_statuschange (user_id, from_status, to_status, by_id, reason, is_sandbox)"
        " VALUES (%s, 'pendingCompliance', 'active', %s, 'why', true)",
        user.pk,
        staff.pk,
    )
    assert not user.status_changes.get().is_sandbox


def test_a_status_change_cannot_be_dated_back_and_moves_the_user(user: User) -> None:
    staff = factories.StaffFactory.create()
    run(
        "INSERT INTO users_statuschange (user_id, from_status, to_status, by_id, reason, created_at)"
        " VALUES (%s, 'pendingCompliance', 'active', %s, 'why', '2020-01-01')",
        user.pk,
        staff.pk,
    )
    user.refresh_from_db()
    change = user.status_changes.get()
    assert (user.status, change.created_at.year > 2020) == ("active", True)


@pytest.mark.parametrize(
    ("column", "value"),
    [
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
    ],
)
def test_a_conversion_outside_the_contract_is_refused(user: User, column: str, value: str) -> None:
    columns = factories.columns_of(factories.ConversionFactory, user=user)
    values = columns | {"partner": user.partner_id, "user": user.pk, "conversion_id": "cv-1"} | {column: value}
    names = ", ".join(f"{name}_id" if name in {"partner", "user"} else name for name in values)
    marks = ", ".join(["%s"] * len(values))
    with pytest.raises(IntegrityError, match="violates check constraint"):
        run(f"INSERT INTO transactions_conversion ({names}) VALUES ({marks})", *values.values())


@pytest.mark.parametrize("born", ["infinity", "-infinity", "10000-01-01", "1899-12-31"])
def test_a_date_of_birth_that_no_page_could_read_is_refused(user: User, born: str) -> None:
    with pytest.raises(IntegrityError, match="user_date_of_birth_plausible"):
        run("UPDATE users_user SET date_of_birth = %s WHERE id = %s", born, user.pk)


def test_one_conversion_id_is_there_once_for_a_partner(user: User) -> None:
    factories.ConversionFactory.create(user=user, conversion_id="cv-1")
    with pytest.raises(IntegrityError, match="conversion_partner_id"):
        factories.ConversionFactory.create(user=user, conversion_id="cv-1")


def test_a_document_belongs_to_its_users_own_partner(user: User) -> None:
    stranger = factories.PartnerFactory.create()
    with pytest.raises(IntegrityError, match="document_user_of_partner"):
        factories.DocumentFactory.create(user=user, partner=stranger)


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("type", "letter"),
        ("title", ""),
        ("title", "a\u0007b"),
        ("title", "a\u0085b"),
        ("content_type", "text/html; charset=utf-8"),
        ("content_type", "text/html\r\nX-Other: 1"),
        ("content_type", ""),
        ("size_bytes", 0),
        ("sha256", b"\x00" * 31),
        ("tiebreak", -1),
        ("created_at", "infinity"),
        ("created_at", "0044-03-15 BC"),
    ],
)
def test_a_document_outside_the_contract_is_refused(user: User, column: str, value: object) -> None:
    columns = factories.columns_of(factories.DocumentFactory, user=user)
    columns |= {"partner": user.partner_id, "user": user.pk, "document_id": uuid4()}
    values = columns | {column: value}
    names = ", ".join(f"{name}_id" if name in {"partner", "user"} else name for name in values)
    marks = ", ".join(["%s"] * len(values))
    with pytest.raises(IntegrityError, match="violates check constraint"):
        run(f"INSERT INTO transactions_document ({names}) VALUES ({marks})", *values.values())


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


def test_a_decision_has_a_reason_that_is_not_blank(user: User) -> None:
    with pytest.raises(DatabaseError, match="status_change_reason_given"):
        run(
            "INSERT INTO users_statuschange (user_id, from_status, to_status, by_id, reason)"
            " VALUES (%s, 'pendingCompliance', 'active', %s, E' \t\n')",
            user.pk,
            factories.StaffFactory.create().pk,
        )
