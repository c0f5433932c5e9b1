"""JSON that the serving role writes for good: the database refuses it, or all pages and exports show it.

Columns are found in the catalogue. A new one must be in a line here.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any
from uuid import uuid4

import pytest
from django.db import IntegrityError, connection, transaction
from django.test import Client
from django.utils import timezone

from events.models import WebhookEndpoint
from events.webhooks.deliveries import TEST_TYPE
from partners.models import Partner
from tests import factories
from tests.backoffice.exports.test_archives import unzipped
from tests.backoffice.test_page_names import page_of, sidebar
from tests.database.test_trails import ROWS, World, world  # noqa: F401 - a fixture
from tests.support.client import PartnerClient
from tests.support.commands import run
from tests.support.staff import client_as
from users.decisions.risk_flags import RISK_FLAGS
from users.models import User
from users.models.columns import PROFILE_COLUMNS

pytestmark = pytest.mark.django_db

# Of another shape than any that is written. Python can read none of the last three.
REFUSED = ["5", '"x"', "[[]]", "[5]", "[{}]", "[" * 2_000 + "]" * 2_000, "1" + "0" * 5_000]
REFUSED.append(f'{{"a": {REFUSED[-2]}}}')
TIMES = ("", "yesterday", "2026-01-01", "0001-01-01T00:00:00+00:00", "9999-99-99T00:00:00Z")
ODD: tuple[Any, ...] = (5, 1.5, True, None, [], {}, [5], [[5]], {"a": {"b": [5]}}, "unheardOf", *TIMES)

# Values of the right shape, or near to it, that say what nobody knows.
BASIS: dict[str, Any] = {"version": "v", "source": "request a", "openSeconds": None, "riskFlags": [], "changes": []}
OF_FLAGS = ("decidedAt", "by", "reasonCode", "reason", "userIds", "hasMore", "province", "postalCode", "adultOn", "at")
OF_CHANGES = (
    *(*PROFILE_COLUMNS, "shoe_size", "status", "open_seconds", "reason_code"),
    *("size_bytes", "version", "risk_flags", "file", "created_at"),
)
BASES = (
    BASIS,
    *(BASIS | {"version": one, "source": one} for one in TIMES),
    *(BASIS | {"openSeconds": one} for one in (-1, 1e11, 1e30)),
    BASIS
    | {
        "riskFlags": [
            {"code": code, "data": data}
            for code in (*RISK_FLAGS, "unheardOf")
            for data in ({}, *(dict.fromkeys(OF_FLAGS, one) for one in ODD))
        ]
    },
    BASIS | {"changes": [{"since": "s", "fields": {name: [one, one] for name in OF_CHANGES}} for one in ODD]},
)
OF_DETAIL = (
    *("reason", "reasonCode", "role", "roles", "type", "code", "state", "export", "fields"),
    *("key", "operator", "partner", "externalId", "requestId", "source"),
)
OF_CHANGED = ("expires_at", "status", "types", "enabled", "unheardOf")
DETAILS = (
    *({"changes": one} for one in ODD),
    *(dict.fromkeys(OF_DETAIL, one) for one in ODD),
    *({"changes": dict.fromkeys(OF_CHANGED, one)} for one in (*([odd, odd] for odd in ODD), [1], [1, 2, 3], 5)),
)
FIELD_ERRORS = [[dict.fromkeys(("field", "code", "message"), one)] for one in ODD]
DIAGNOSES = [dict.fromkeys(("cause", "message", "canonicalRequest"), one) for one in ODD]
ATTEMPT = {"at": "2026-01-01T00:00:00Z", "milliseconds": 1, "status": 200}
ATTEMPTS = (
    *([ATTEMPT | {name: one}] for name in ATTEMPT for one in (*ODD, -1, 1e11, 1e30)),
    *([{"at": ATTEMPT["at"], "milliseconds": 1, "error": one}] for one in ODD),
)
CONTEXTS = [dict.fromkeys(("source", "key", "requestId", "command", "unheardOf"), one) for one in ODD]

Writer = Callable[[World, str], None]


def insert(table: str, row: Mapping[str, Any]) -> None:
    names, marks = ", ".join(row), ", ".join(["%s"] * len(row))
    execute(f"INSERT INTO {table} ({names}) VALUES ({marks})", *row.values())


def execute(statement: str, *parameters: Any) -> None:
    with connection.cursor() as cursor:
        cursor.execute(statement, parameters)


def in_row(table: str, column: str) -> Writer:
    return lambda w, value: insert(table, ROWS[table](w) | {column: value})


def in_request(column: str) -> Writer:
    row = {"method": "GET", "path": "/v1/ping", "query": "", "status": 401, "error": "unauthorized"}
    row |= {"field_errors": "[]", "replayed": False, "milliseconds": 1}

    def write(_world: World, value: str) -> None:
        of_partner = {"partner_id": Partner.objects.get(mode="sandbox").pk, "request_id": uuid4()}
        insert("partners_sandboxrequest", row | of_partner | {"created_at": timezone.now(), column: value})

    return write


def in_delivery(_world: World, value: str) -> None:
    row = {"endpoint_id": WebhookEndpoint.objects.get().pk, "event_uuid": uuid4(), "type": TEST_TYPE}
    insert("events_webhookdelivery", row | {"attempts": value})


def in_context(statement: str) -> Writer:
    """The statement makes a trigger keep the session's context. w: the world."""

    def write(w: World, value: str) -> None:
        execute("SELECT set_config('pghistory.context_metadata', %s, true)", value)
        execute(statement.format(w=w, new=uuid4().hex))
        execute("SELECT set_config('pghistory.context_metadata', '', true)")

    return write


# Of the kinds' entries, with what the row itself must have.
ENTRY = {"rating": "low", "reason": "Salary."}
OF_ENTRY = ("list", "listDate", "receivedOn", "verifiedOn", "method", "unheardOf", "rating", "sources", "documentType")
SOURCES = {"sources": [{"source": "A", "information": "unheardOf", "shoe": "x"}, {}]}
ENTRIES = (ENTRY, ENTRY | SOURCES, *(ENTRY | dict.fromkeys(OF_ENTRY, one) for one in ODD))

COLUMNS: dict[str, tuple[Writer, Any]] = {
    "users_fileentry.fields": (in_row("users_fileentry", "fields"), ENTRIES),
    "users_statuschange.basis": (in_row("users_statuschange", "basis"), BASES),
    "users_proposal.basis": (in_row("users_proposal", "basis"), BASES[-2:]),
    "core_auditentry.detail": (in_row("core_auditentry", "detail"), DETAILS),
    "partners_sandboxrequest.field_errors": (in_request("field_errors"), FIELD_ERRORS),
    "partners_sandboxrequest.diagnosis": (in_request("diagnosis"), DIAGNOSES),
    "events_webhookdelivery.attempts": (in_delivery, ATTEMPTS),
}
# Their triggers keep the session's context.
OF_CONTEXT = {
    "users_fileentry.context": (
        "INSERT INTO users_fileentry (id, user_id, kind, fields) VALUES"
        """ (gen_random_uuid(), '{w.user.pk}', 'riskRating', '{{"rating": "low", "reason": "{new}"}}')"""
    ),
    "partners_partnerevent.pgh_context": "UPDATE partners_partner SET name = '{new}'",
    "partners_apikeyevent.pgh_context": "UPDATE partners_apikey SET expires_at = clock_timestamp() + interval '1 day'",
    "events_webhookendpointevent.pgh_context": "UPDATE events_webhookendpoint SET description = '{new}'",
    "events_webhooksecretevent.pgh_context": "UPDATE events_webhooksecret SET expires_at = clock_timestamp()",
    "users_userevent.pgh_context": "UPDATE users_user SET city = '{new}' WHERE id = '{w.user.pk}'",
    "staff_staffevent.pgh_context": "UPDATE staff_staff SET first_name = '{new}' WHERE id = {w.staff.pk}",
    "staff_staffroleevent.pgh_context": (
        "DELETE FROM staff_staff_groups WHERE staff_id = {w.staff.pk};"
        " INSERT INTO staff_staff_groups (staff_id, group_id) SELECT {w.staff.pk}, id FROM auth_group LIMIT 1"
    ),
    "staff_secondfactorevent.pgh_context": (
        "INSERT INTO mfa_authenticator (user_id, type, data, created_at)"
        " VALUES ({w.staff.pk}, 'webauthn', '{{}}', now())"
    ),
    "users_requirementresponse.context": (
        "INSERT INTO users_requirementresponse (requirement_id, note) VALUES ('{w.requirement.pk}', 'For rent.')"
    ),
}
# The owner alone writes them.
OWNERS = {"users_erasure.rows", "events_event.data", "events_outboxentry.data", "pghistory_context.metadata"}
# Rows of libraries, which can be changed again.
CHANGEABLE = {"mfa_authenticator.data", "socialaccount_socialaccount.extra_data", "socialaccount_socialapp.settings"}


def test_every_column_of_json_is_here() -> None:
    """Of the serving role's rights, the catalogue says what it has itself; a trigger may keep its session's context."""
    with connection.cursor() as cursor:
        cursor.execute("""
            SELECT relname || '.' || attname, has_column_privilege(attrelid, attnum, 'INSERT, UPDATE')
              FROM pg_attribute JOIN pg_class c ON c.oid = attrelid
             WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p')
               AND atttypid IN ('json'::regtype, 'jsonb'::regtype) AND NOT attisdropped""")
        found = dict(cursor.fetchall())
    assert set(found) == COLUMNS.keys() | OF_CONTEXT | OWNERS | CHANGEABLE
    assert not any(found[one] for one in OWNERS)


def test_they_are_refused_or_shown(
    world: World,  # noqa: F811
    api: PartnerClient,
    sandbox: PartnerClient,
) -> None:
    factories.WebhookEndpointFactory.create(partner=world.user.partner)
    for column in (*COLUMNS, *OF_CONTEXT):
        write, values = COLUMNS[column] if column in COLUMNS else (in_context(OF_CONTEXT[column]), CONTEXTS)
        assert not [value[:10] for value in REFUSED if is_stored(write, world, value)], column
        # A shape that refuses all is not the one that the service writes.
        assert [value for value in ("{}", "[]", *map(json.dumps, values)) if is_stored(write, world, value)], column
    assert_staff_see_all(world)
    assert (sandbox.get("/v1/sandbox/requests").status, api.get("/v1/events").status) == (200, 200)


def is_stored(write: Writer, w: World, value: str) -> bool:
    try:
        with transaction.atomic():
            write(w, value)
    except IntegrityError:
        return False
    return True


def assert_staff_see_all(w: World) -> None:
    """Every list, the page of every row on it, every export, and the command of the audit log."""
    client = client_as("superuser")
    lists = [read(client, path) for path in ("/admin/", *sidebar(page_of(client, "/admin/")))]
    for path in sorted({path for page in lists for path in linked(page)}):
        read(client, path)
    read(client_as("viewer"), f"/admin/cases/{w.user.pk}/")
    run("audit_log", "--json")
    users = [str(pk) for pk in User.objects.values_list("pk", flat=True)]
    unzipped(client.post("/admin/exports/packs/", {"user": users, "confirmed": "yes"}))
    unzipped(client.post(f"/admin/cases/{w.user.pk}/copy/", {"language": "en"}))
    for name in ("users.csv", "decisions.csv", "access-log.csv"):
        response: Any = client.post(f"/admin/exports/{name}", {"mode": "live"})
        assert response.status_code == 200, name
        assert b"incomplete" not in b"".join(response.streaming_content).lower(), name


def linked(page: str) -> Iterator[str]:
    yield from re.findall(r'href="(/admin/[^"?]*/change/|/admin/cases/[-0-9a-f]{36}/)', page)


def read(client: Client, path: str) -> str:
    response = client.get(path)
    assert response.status_code == 200, path
    return response.content.decode()
