"""JSON that the serving role writes for good: the database refuses it, or all pages and exports show it.

Columns are found in the catalogue. A new one must be in a line here.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any
from uuid import uuid4

import pytest
from django.db import IntegrityError, connection
from django.test import Client
from django.utils import timezone

from backoffice.lists.pages import address_of
from core.models import AuditEntry
from events.models import WebhookDelivery, WebhookEndpoint
from events.webhooks.deliveries import TEST_TYPE
from partners.models import Partner
from tests import factories
from tests.backoffice.exports.test_archives import unzipped
from tests.backoffice.test_page_names import page_of, sidebar
from tests.database.test_trails import ROWS, World, world  # noqa: F401 - a fixture
from tests.support.client import PartnerClient
from tests.support.commands import run
from tests.support.database import undone
from tests.support.staff import client_as
from users.decisions.risk_flags import RISK_FLAGS
from users.models import Proposal, StatusChange, User, UserEvent
from users.models.columns import PROFILE_COLUMNS

pytestmark = pytest.mark.django_db

# Of another shape than any that is written. Python can read none of the last three.
REFUSED = ["5", '"x"', "[[]]", "[5]", "[{}]", "[" * 2_000 + "]" * 2_000, "1" + "0" * 5_000]
REFUSED.append(f'{{"a": {REFUSED[-2]}}}')
TIMES = ("", "yesterday", "2026-01-01", "0001-01-01T00:00:00+00:00", "9999-99-99T00:00:00Z")
ODD: tuple[Any, ...] = (5, 1.5, True, None, [], {}, [5], [[5]], {"a": {"b": [5]}}, "unheardOf", *TIMES)


def each_of(names: Sequence[str]) -> list[dict[str, Any]]:
    """One odd value under all of these names, for each value."""
    return [dict.fromkeys(names, one) for one in ODD]


# Values of the right shape, or near to it, that say what nobody knows.
BASIS: dict[str, Any] = {"version": "v", "source": "request a", "openSeconds": None, "riskFlags": [], "changes": []}
OF_FLAGS = ("decidedAt", "by", "reasonCode", "reason", "userIds", "hasMore", "province", "postalCode", "adultOn", "at")
OF_CHANGES = (
    *(*PROFILE_COLUMNS, "shoe_size", "status", "open_seconds", "reason_code"),
    *("size_bytes", "version", "risk_flags", "file", "created_at"),
)
BASES = [
    BASIS | {"version": one, "source": one, "openSeconds": seconds}
    for one, seconds in zip(TIMES, (-1, 1e11, 1e30, 0.5, None), strict=True)
]
CODES = (*RISK_FLAGS, "unheardOf")
# Each with what is odd in its lists.
OF_BASES = (
    *(BASIS | {"riskFlags": [{"code": code, "data": data} for code in CODES]} for data in ({}, *each_of(OF_FLAGS))),
    *(BASIS | {"changes": [{"since": "s", "fields": {name: [one, one] for name in OF_CHANGES}}]} for one in ODD),
)
OF_DETAIL = (
    *("reason", "reasonCode", "role", "roles", "type", "code", "state", "export", "fields"),
    *("key", "operator", "partner", "externalId", "requestId", "source"),
)
OF_CHANGED = ("expires_at", "status", "types", "enabled", "unheardOf")
DETAILS = (
    *({"changes": one} for one in ODD),
    *(dict.fromkeys(OF_DETAIL, one) | {"changes": {name: [one, one] for name in OF_CHANGED}} for one in ODD),
    *({"changes": dict.fromkeys(OF_CHANGED, one)} for one in ([1], [1, 2, 3], 5)),
)
FIELD_ERRORS = [[one] for one in each_of(("field", "code", "message"))]
DIAGNOSES = each_of(("cause", "message", "canonicalRequest"))
ATTEMPT = {"at": "2026-01-01T00:00:00Z", "milliseconds": 1, "status": 200}
ATTEMPTS = (
    *([ATTEMPT | {name: one}] for name in ATTEMPT for one in (*ODD, -1, 1e11, 1e30)),
    *([{"at": ATTEMPT["at"], "milliseconds": 1, "error": one}] for one in ODD),
)
CONTEXTS = each_of(("source", "key", "requestId", "command", "unheardOf"))

Writer = Callable[[str], None]
WriterOf = Callable[[World], Writer]


def insert(table: str, row: Mapping[str, Any]) -> None:
    names, marks = ", ".join(row), ", ".join(["%s"] * len(row))
    execute(f"INSERT INTO {table} ({names}) VALUES ({marks})", *row.values())


def execute(statement: str, *parameters: Any) -> None:
    with connection.cursor() as cursor:
        cursor.execute(statement, parameters)


def in_row(table: str, column: str) -> WriterOf:
    """Into a new row, which each writer can write once."""

    def writer(w: World) -> Writer:
        row = ROWS[table](w)
        return lambda value: insert(table, row | {column: value})

    return writer


def in_decision(w: World) -> Writer:
    """Three each are on one user."""
    steps = {"pendingCompliance": "active", "active": "suspended", "suspended": "closed"}
    decided = {"external_id__startswith": "decided-", "status__in": steps}
    user = User.objects.filter(**decided).first() or factories.UserFactory.create(external_id=f"decided-{uuid4()}")
    row = {"user_id": user.pk, "from_status": user.status, "to_status": steps[user.status]}
    row |= {"by_id": w.staff.pk, "reason": "Seen."}
    return lambda value: insert("users_statuschange", row | {"basis": value})


def in_request(column: str) -> WriterOf:
    row = {"method": "GET", "path": "/v1/ping", "query": "", "status": 401, "error": "unauthorized"}
    row |= {"field_errors": "[]", "replayed": False, "milliseconds": 1}

    def writer(_world: World) -> Writer:
        of_partner = {"partner_id": sandbox_partner().pk, "request_id": uuid4(), "created_at": timezone.now()}
        return lambda value: insert("partners_sandboxrequest", row | of_partner | {column: value})

    return writer


def in_delivery(_world: World) -> Writer:
    row = {"endpoint_id": WebhookEndpoint.objects.get().pk, "event_uuid": uuid4(), "type": TEST_TYPE}
    return lambda value: insert("events_webhookdelivery", row | {"attempts": value})


def in_context(statement: str) -> WriterOf:
    """The statement makes a trigger keep the session's context. w: the world."""

    def writer(w: World) -> Writer:
        def write(value: str) -> None:
            execute("SELECT set_config('pghistory.context_metadata', %s, true)", value)
            execute(statement.format(w=w, new=uuid4().hex))
            execute("SELECT set_config('pghistory.context_metadata', '', true)")

        return write

    return writer


def sandbox_partner() -> Partner:
    return Partner.objects.get(mode="sandbox")


# Of the kinds' entries, with what the row itself must have.
ENTRY = {"rating": "low", "reason": "Salary."}
OF_ENTRY = ("list", "listDate", "receivedOn", "verifiedOn", "method", "unheardOf", "rating", "sources", "documentType")
SOURCES = {"sources": [{"source": "A", "information": "unheardOf", "shoe": "x"}, {}]}
ENTRIES = (ENTRY, ENTRY | SOURCES, *(ENTRY | one for one in each_of(OF_ENTRY)))


def in_one_list(values: list[Any]) -> list[Any]:
    return [[item for value in values for item in value]]


def in_one_basis(values: list[Any]) -> list[Any]:
    """What their lists hold in one; those of BASES each."""
    lists = {name: [item for value in values for item in value[name]] for name in ("riskFlags", "changes")}
    return [BASIS | lists, *(value for value in values if value in BASES)]


# Who writes it, what is tried, and the rows in which all that is accepted is shown.
COLUMNS: dict[str, tuple[WriterOf, Sequence[Any], Callable[[list[Any]], list[Any]]]] = {
    "users_fileentry.fields": (in_row("users_fileentry", "fields"), ENTRIES, list),
    "users_statuschange.basis": (in_decision, (*BASES, *OF_BASES), in_one_basis),
    "users_proposal.basis": (in_row("users_proposal", "basis"), OF_BASES, in_one_basis),
    "core_auditentry.detail": (in_row("core_auditentry", "detail"), ({}, *DETAILS), list),
    "partners_sandboxrequest.field_errors": (in_request("field_errors"), ([], *FIELD_ERRORS), in_one_list),
    "partners_sandboxrequest.diagnosis": (in_request("diagnosis"), DIAGNOSES, list),
    "events_webhookdelivery.attempts": (in_delivery, ([], *ATTEMPTS), in_one_list),
}
# Their triggers keep the session's context.
OF_CONTEXT = {
    "users_fileentry.context": (
        "INSERT INTO users_fileentry (id, user_id, kind, fields) VALUES"
        """ (gen_random_uuid(), '{w.user.pk}', 'riskRating', '{{"rating": "low", "reason": "{new}"}}')"""
    ),
    "partners_partnerevent.pgh_context": "UPDATE partners_partner SET name = '{new}'",
    "partners_apikeyevent.pgh_context": "UPDATE partners_apikey"
    " SET expires_at = coalesce(expires_at, clock_timestamp() + interval '1 day') - interval '1 second'",
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


def tried(column: str) -> tuple[WriterOf, Sequence[Any], Callable[[list[Any]], list[Any]]]:
    return COLUMNS[column] if column in COLUMNS else (in_context(OF_CONTEXT[column]), ({}, *CONTEXTS), list)


def test_they_are_refused_or_shown(
    world: World,  # noqa: F811
    api: PartnerClient,
    sandbox: PartnerClient,
) -> None:
    factories.WebhookEndpointFactory.create(partner=world.user.partner)
    accepted = {}
    for column in (*COLUMNS, *OF_CONTEXT):
        writer, values, _rows = tried(column)
        with undone():
            write = writer(world)
            assert not [value[:10] for value in REFUSED if is_stored(write, value)], column
            accepted[column] = [value for value in values if is_stored(write, json.dumps(value))]
    # A shape that refuses all is not the one that the service writes.
    assert not [column for column, values in accepted.items() if not values]
    assert_shown([(column, value) for column, values in accepted.items() for value in values], world, api, sandbox)


def is_stored(write: Writer, value: str) -> bool:
    try:
        with undone():
            write(value)
    except IntegrityError:
        return False
    return True


def assert_shown(shapes: list[tuple[str, Any]], w: World, *clients: PartnerClient) -> None:
    """With all of them stored; where that fails, the note names one with which it fails."""
    try:
        with undone():
            for column, of_column in groupby(shapes, itemgetter(0)):
                writer, _values, rows = tried(column)
                for value in rows([value for _column, value in of_column]):
                    writer(w)(json.dumps(value))
            assert_staff_see_all(w)
            for client, path in zip(clients, ("/v1/events", "/v1/sandbox/requests"), strict=True):
                assert client.get(path).status == 200
    except Exception as error:
        middle = len(shapes) // 2
        for half in (shapes[:middle], shapes[middle:]) if middle else ():
            assert_shown(half, w, *clients)
        error.add_note(f"It fails with these: {shapes}")
        raise


def assert_staff_see_all(w: World) -> None:
    """Every list, a page of every kind that they link to, those of these rows, every export, and the audit log."""
    client = client_as("superuser")
    lists = [read(client, path) for path in ("/admin/", *sidebar(page_of(client, "/admin/")))]
    users = {w.user.pk, *StatusChange.objects.exclude(basis=None).values_list("user", flat=True)}
    users |= {*Proposal.objects.exclude(basis=None).values_list("user", flat=True)}
    exported = AuditEntry.objects.filter(action="user.exported")
    rows = [exported.last(), UserEvent.objects.last(), WebhookDelivery.objects.last(), sandbox_partner()]
    paths = [*(path for page in lists for path in linked(page)), *map(address_of, filter(None, rows))]
    of_each_kind = {re.sub(r"[-0-9a-f]{36}|[0-9]+", "", path): path for path in paths}
    for path in {*of_each_kind.values(), *(f"/admin/cases/{pk}/" for pk in users)}:
        read(client, path)
    read(client_as("viewer"), f"/admin/cases/{w.user.pk}/")
    run("audit_log", "--json")
    unzipped(client.post("/admin/exports/packs/", {"user": [*map(str, users)], "confirmed": "yes"}))
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
