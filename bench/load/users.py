"""Copies generated users into the database, under the role that owns the schema.

The triggers that write history row by row are disabled in this transaction; their rows are written here.
"""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from django.db import connections, transaction
from django.utils import timezone

from bench.load.people import Person, people
from partners.db import serving_role
from partners.models import Partner
from users.models import Staff, Status, UserEvent
from users.staff.staff import create_staff

PREFIX = "load-"
PARTNERS = 20
REVIEWERS = 12
BATCH_SIZE = 20_000
_TABLES = ("users_user", "users_statuschange")
_REASONS = {
    Status.ACTIVE: "Identity and address confirmed.",
    Status.REJECTED: "The address could not be confirmed.",
    Status.PENDING_COMPLIANCE: "New documents came in.",
    Status.SUSPENDED: "Unusual conversions are under review.",
    Status.CLOSED: "Closed at the user's request.",
}


def fill(*, users: int) -> None:
    """Add users with decisions and history, and gather statistics. Raises IntegrityError if they exist."""
    now = timezone.now()
    partners = [_partner(number).pk for number in range(PARTNERS)]
    reviewers = [_reviewer(number).pk for number in range(REVIEWERS)]
    connection = connections[serving_role.owner_alias()]
    with transaction.atomic(using=connection.alias), connection.cursor() as cursor:
        for table in _TABLES:
            cursor.execute(f"ALTER TABLE {table} DISABLE TRIGGER USER")
        for first in range(1, users + 1, BATCH_SIZE):
            group = list(people(first=first, last=min(first + BATCH_SIZE - 1, users), now=now))
            _copy(cursor, "users_user", [_user(person, partners) for person in group])
            _copy(cursor, "users_statuschange", [row for one in group for row in _changes(one, partners, reviewers)])
        _write_history(cursor)
        # A table with pending checks of deferred foreign keys cannot be altered.
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
        for table in _TABLES:
            cursor.execute(f"ALTER TABLE {table} ENABLE TRIGGER USER")
    with connection.cursor() as cursor:
        for table in (*_TABLES, "users_userevent", "users_claim"):
            cursor.execute(f"VACUUM (ANALYZE) {table}")


def _partner(number: int) -> Partner:
    return Partner.objects.get_or_create(
        slug=f"{PREFIX}{number + 1:02d}", defaults={"name": f"Load Partner {number + 1}"}
    )[0]


def _reviewer(number: int) -> Staff:
    username = f"{PREFIX}reviewer-{number + 1:02d}"
    present = Staff.objects.filter(username=username).first()
    return present or create_staff(username=username, email=f"{username}@example.com", role="reviewer")[0]


def _partner_of(person: Person, partners: list[int]) -> int:
    # The first has the most users, the last the fewest.
    return partners[(person.number * 7919 % 1000) ** 2 * len(partners) // 1_000_000]


def _user(person: Person, partners: list[int]) -> dict[str, Any]:
    return {
        "partner_id": _partner_of(person, partners),
        "external_id": f"{PREFIX}{person.number:08d}",
        **person.columns,
    }


def _changes(person: Person, partners: list[int], reviewers: list[int]) -> Iterable[dict[str, Any]]:
    for step, move in enumerate(person.moves):
        yield {
            "user_id": person.columns["id"],
            "partner_id": _partner_of(person, partners),
            "from_status": move.start.value,
            "to_status": move.end.value,
            "by_id": reviewers[(person.number + step) % len(reviewers)],
            "reason": _REASONS[move.end],
            "waiting_since": move.since if move.start == Status.PENDING_COMPLIANCE else None,
            "created_at": move.at,
        }


def _copy(cursor: Any, table: str, rows: list[dict[str, Any]]) -> None:
    """Insert rows of the same columns."""
    if not rows:
        return
    # Django's cursor hands psycopg's errors of a COPY through as they are.
    with cursor.db.wrap_database_errors, cursor.copy(f"COPY {table} ({', '.join(rows[0])}) FROM STDIN") as copy:
        copy.write("".join("\t".join(map(_text, row.values())) + "\n" for row in rows))


def _text(value: object) -> str:
    # No value of these holds a tab, a line feed or a backslash.
    if value is None:
        return r"\N"
    return value.isoformat() if isinstance(value, datetime) else str(value)


def _write_history(cursor: Any) -> None:
    """Write what the triggers would: each user as they were created, and as the last change left them."""
    fields = UserEvent._meta.concrete_fields  # noqa: SLF001 - Django's public name
    columns = [str(field.column) for field in fields if not field.name.startswith("pgh_")]
    as_created = {
        "status": f"'{Status.PENDING_COMPLIANCE.value}'",
        "status_since": "created_at",
        "profile_changed_at": "NULL",
        "identity_changed_at": "NULL",
        "updated_at": "created_at",
    }
    as_left: Mapping[str, str] = {}
    for label, values, condition in (("insert", as_created, "true"), ("update", as_left, "updated_at > created_at")):
        cursor.execute(
            f"INSERT INTO {UserEvent._meta.db_table}"  # noqa: SLF001
            f" ({', '.join(columns)}, pgh_label, pgh_context, pgh_created_at, pgh_obj_id)"
            f" SELECT {', '.join(values.get(column, column) for column in columns)}, %s, %s::jsonb,"
            f" {values.get('updated_at', 'updated_at')}, id FROM users_user"
            f" WHERE external_id LIKE '{PREFIX}%%' AND {condition}",
            [label, '{"command": "bench.load"}'],
        )
