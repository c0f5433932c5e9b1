"""Recording, ending and reading the entries of users' files; what a kind keeps secret is stored encrypted."""

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import date, timedelta
from typing import Any, NamedTuple
from uuid import UUID

from cryptography.fernet import InvalidToken
from django.db import transaction
from django.db.models import QuerySet
from django.utils.translation import gettext as _

from core import encryption
from core.database import serving_role, statements
from core.encryption import EncryptedColumn
from core.refusals import RefusedError
from partners.models import Partner
from staff.models import Staff
from users.decisions.compliance import DECIDE
from users.file.kinds import KINDS, Kind
from users.models import AccessKind, AccessRecord, FileEntry, User
from users.profile import field_rules
from users.profile.labels import display_value
from users.refusals import refused_by_database, require_permission

FILE_ENTRIES = "partner-service file entries"

# With LIMIT, PostgreSQL uses the index of both columns.
_FIND_USERS = """
    SELECT u.id
      FROM unnest(%s::text[], %s::text[]) AS wanted (slug, external_id)
      JOIN partners_partner p ON p.slug = wanted.slug
     CROSS JOIN LATERAL (
           SELECT id FROM users_user WHERE partner_id = p.id AND external_id = wanted.external_id LIMIT 1) AS u
"""
_LOCK_USERS = """
    SELECT p.slug, u.external_id, u.id, u.date_of_birth
      FROM users_user u JOIN partners_partner p ON p.id = u.partner_id
     WHERE u.id = ANY (%s::uuid[]) ORDER BY u.id FOR NO KEY UPDATE OF u
"""
_NEWEST = """
    SELECT entry.*
      FROM unnest(%s::uuid[], %s::text[], %s::text[]) AS wanted (user_id, kind, topic)
     CROSS JOIN LATERAL (
           SELECT * FROM users_fileentry
            WHERE user_id = wanted.user_id AND kind = wanted.kind AND topic = wanted.topic AND ends_id IS NULL
            ORDER BY created_at DESC LIMIT 1) AS entry
"""


class Line(NamedTuple):
    """A field of an entry for people. secret: its path where it is shown to who may decide alone, else empty."""

    label: Any
    value: str
    secret: str


# Recording


def record(
    *, user_id: UUID | str, born: date, kind: str, data: Any, by: Staff | None = None, source: str = ""
) -> FileEntry:
    """Add an entry to a user's file. born: its birth date. data: the kind's fields, as JSON. by: staff who may decide.

    source: the origin that the history names. Raises DRF's ValidationError, RefusedError; nothing has changed then.
    """
    if by is not None:
        require_permission(by, DECIDE)
    entry = new_entry(KINDS[kind], KINDS[kind].serializer.validated(data, born=born), user_id=user_id)
    return _store(entry, by=by, source=source)


def end(*, entry_id: UUID, data: Any, by: Staff, source: str = "") -> FileEntry:
    """End an open entry by another: the resolution of a match, the outcome of a request. Raises also DoesNotExist."""
    require_permission(by, DECIDE)
    ended = FileEntry.objects.select_related("user").get(pk=entry_id)
    kind = KINDS[ended.kind]
    if kind.ending is None:
        raise RefusedError(_("An entry of this kind is not closed: add another one."))
    values = kind.ending.validated(data, born=ended.user.date_of_birth, ended=ended.fields)
    entry = FileEntry(user_id=ended.user_id, kind=kind.code, ends=ended, fields=values)
    return _store(entry, by=by, source=source)


def new_entry(kind: Kind, values: Mapping[str, Any], *, user_id: UUID | str) -> FileEntry:
    """The row of valid values, not stored."""
    secrets: dict[str, str] = {}
    fields = _without_secrets(values, kind, secrets)
    due_on = fields.pop(kind.due, None)
    encrypted = encryption.encrypt(json.dumps(secrets), purpose=FILE_ENTRIES) if secrets else ""
    return FileEntry(
        user_id=user_id,
        kind=kind.code,
        topic=kind.topic(values),
        fields=fields,
        encrypted=encrypted,
        due_on=due_on and date.fromisoformat(due_on),
    )


def record_changes(entries: Sequence[FileEntry]) -> int:
    """Store the entries, of locked users, that say something else than the newest of their kind and topic; how many."""
    keys = [(str(entry.user_id), entry.kind, entry.topic) for entry in entries]
    found = FileEntry.objects.raw(_NEWEST, [list(column) for column in zip(*keys, strict=True)]) if keys else ()
    newest_of = {(str(entry.user_id), entry.kind, entry.topic): entry for entry in found}
    changes = []
    for key, entry in zip(keys, entries, strict=True):
        if key not in newest_of or not _says_the_same(newest_of[key], entry):
            newest_of[key] = entry
            changes.append(entry)
    FileEntry.objects.bulk_create(changes)
    return len(changes)


def lock_users(names: Collection[tuple[str, str]]) -> dict[tuple[str, str], tuple[UUID, date]]:
    """The id and birth date of users, locked in one order against deadlocks, by partner's slug and externalId."""
    found = statements.fetch_all(_FIND_USERS, [list(column) for column in zip(*names, strict=True)]) if names else []
    rows = statements.fetch_all(_LOCK_USERS, ([user_id for (user_id,) in found],))
    return {(slug, external_id): (user_id, born) for slug, external_id, user_id, born in rows}


def _says_the_same(one: FileEntry, other: FileEntry) -> bool:
    """Whether both have the same fields; not where one is under no present key."""
    with suppress(InvalidToken):
        return (one.fields, one.due_on, _secrets(one)) == (other.fields, other.due_on, _secrets(other))
    return False


def _store(entry: FileEntry, *, by: Staff | None, source: str) -> FileEntry:
    entry.by = by
    with transaction.atomic(), refused_by_database():
        if by is not None:
            statements.set_context(staff=by.get_username(), source=source)
        entry.save(force_insert=True)
    entry.refresh_from_db()
    return entry


def _without_secrets(value: Any, kind: Kind, secrets: dict[str, str], path: str = "") -> Any:
    """The values with empty texts in place of secrets, which are added by their path, such as sources[0].reference."""
    if isinstance(value, list):
        return [_without_secrets(one, kind, secrets, f"{path}[{index}]") for index, one in enumerate(value)]
    kept = {}
    for name, one in value.items():
        here = f"{path}.{name}" if path else name
        if name in kind.secret:
            secrets[here] = one
            kept[name] = ""
        else:
            kept[name] = _without_secrets(one, kind, secrets, here) if isinstance(one, list | dict) else one
    return kept


def _secrets(entry: FileEntry) -> dict[str, str]:
    found = encryption.decrypt(entry.encrypted, purpose=FILE_ENTRIES) if entry.encrypted else "{}"
    secrets: dict[str, str] = json.loads(found)
    return secrets


# Reading


def newest(user: User) -> QuerySet[FileEntry]:
    """The entries that count: the newest of each kind and topic, without those that end others."""
    of_user = FileEntry.objects.filter(user=user, ends=None).select_related("by")
    return of_user.order_by("kind", "topic", "-created_at").distinct("kind", "topic")


def open_entries(kind: Kind, *, due_within_days: int = 0, partner: Partner | None = None) -> QuerySet[FileEntry]:
    """What needs somebody, by default of all real users: of a kind with due dates, what is due within so many days."""
    found = FileEntry.objects.filter(kind=kind.code, is_open=True)
    found = found.filter(user__partner=partner) if partner else found.filter(is_sandbox=False)
    if kind.due:
        found = found.filter(due_on__lte=field_rules.today() + timedelta(days=due_within_days))
    return found.select_related("user__partner").order_by("due_on", "created_at", "id")


def described(entry: FileEntry) -> Iterator[Line]:
    """The fields of an entry with their labels and values for people; one that no kind has, by its name."""
    kind = KINDS[entry.kind]
    due = {kind.due: entry.due_on.isoformat()} if entry.due_on else {}
    for path, name, value in _walk({**entry.fields, **due}, [*kind.labels]):
        is_secret = name in kind.secret and bool(entry.encrypted)
        yield Line(kind.labels.get(name, name), "" if is_secret else _in_words(kind, name, value), path * is_secret)


def shown_fields(entry: FileEntry) -> dict[str, Any]:
    """The fields without what is encrypted, as JSON."""
    secret = KINDS[entry.kind].secret if entry.encrypted else frozenset()

    def without(value: Mapping[str, Any]) -> dict[str, Any]:
        return {
            name: [without(item) for item in one] if isinstance(one, list) else one
            for name, one in value.items()
            if name not in secret
        }

    return without(entry.fields)


def reveal(*, entry: FileEntry, secret: str, by: Staff, request_id: str = "") -> str:
    """Show one secret of an entry, by its path, to who may decide, and record that in the access log.

    Raises RefusedError, also where no key decrypts it, and KeyError where there is none.
    """
    require_permission(by, DECIDE)
    try:
        value = _secrets(entry)[secret]
    except InvalidToken:
        raise RefusedError(_("No key decrypts it: ask the operators.")) from None
    with transaction.atomic():
        detail = f"{entry.kind} {entry.pk}: {secret}"
        AccessRecord.objects.create(
            kind=AccessKind.REVEALED, user_id=entry.user_id, staff=by, request_id=request_id, detail=detail
        )
    return value


def _walk(value: Any, names: Sequence[str], path: str = "") -> Iterator[tuple[str, str, Any]]:
    """The path, the name and the value of each field, those of lists too, in the order of the names: JSONB has none."""
    if isinstance(value, list):
        for index, one in enumerate(value):
            yield from _walk(one, names, f"{path}[{index}]")
        return
    for name, one in sorted(value.items(), key=lambda item: names.index(item[0]) if item[0] in names else len(names)):
        here = f"{path}.{name}" if path else name
        yield from _walk(one, names, here) if isinstance(one, list) else [(here, name, one)]


def _in_words(kind: Kind, name: str, value: str) -> str:
    if name in kind.choices and value in kind.choices[name].values:
        return str(kind.choices[name](value).label)
    if name.endswith(("On", "Date")):
        try:
            return display_value("", date.fromisoformat(value))
        except ValueError:
            return value
    return display_value("country" if name == "issuingCountry" else "", value)


ENCRYPTED = EncryptedColumn(
    "fileEntries",
    "Document numbers and references",
    FILE_ENTRIES,
    rows=lambda: FileEntry.objects.exclude(encrypted=""),
    read=lambda entry: entry.encrypted,
    write=lambda entry, text: (
        FileEntry.objects.using(serving_role.owner_alias()).filter(pk=entry.pk).update(encrypted=text)
    ),
    label=lambda entry: f"File entry {entry.pk}",
    using=serving_role.owner_alias,
)
