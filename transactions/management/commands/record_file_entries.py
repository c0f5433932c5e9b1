import json
from collections.abc import Sequence
from datetime import date
from typing import Any
from uuid import UUID

from django.db import transaction
from rest_framework.exceptions import ValidationError

from core.database import statements
from core.management.arguments import DRY_RUN
from partners.api.errors import field_errors
from partners.api.json import JsonObject
from transactions.imports import UNKNOWN_USER, LineError, external_id_of, parse_line, slug_of
from transactions.management import REJECTS, LinesCommand, lines_file
from users.file.entries import KINDS, lock_users, new_entry, record_changes
from users.models import FileEntry

# Users wait meanwhile, so batches are short.
STATEMENT_SECONDS, LOCK_SECONDS = 60, 60
# PostgreSQL keeps a trigger's plans: those made while the table is empty would read all of it for each later entry.
_LIMITS = """
    SELECT set_config('statement_timeout', %s, true), set_config('lock_timeout', %s, true),
           set_config('enable_seqscan', 'off', true)
"""
_IMPORTED = [kind.code.value for kind in KINDS.values() if kind.is_imported]


class Command(LinesCommand):
    help = (
        "Records results of screening, risk ratings and verifications of identity from another system, NDJSON, one a"
        " line. What the newest of its kind says already is unchanged. Exit status 1 if any line was rejected."
    )
    arguments = (lines_file("FILE"), REJECTS, DRY_RUN)
    done, batch_lines = "recorded", 1000

    def store(self, lines: Sequence[tuple[int, bytes]]) -> tuple[int, dict[int, str]]:
        records, reasons = dict[int, tuple[tuple[str, str], JsonObject]](), dict[int, str]()
        for number, line in lines:
            try:
                records[number] = _parsed(line)
            except LineError as error:
                reasons[number] = str(error)
        with statements.response_timeout(STATEMENT_SECONDS), transaction.atomic():
            statements.fetch_one(_LIMITS, (f"{STATEMENT_SECONDS}s", f"{LOCK_SECONDS}s"))
            users = lock_users({name for name, _ in records.values()})
            entries = []
            for number, (name, record) in records.items():
                try:
                    entries.append(_entry(record, users.get(name)))
                except LineError as error:
                    reasons[number] = str(error)
            recorded = record_changes(entries)
            transaction.set_rollback(self.is_dry_run)
        return recorded, reasons


def _parsed(line: bytes) -> tuple[tuple[str, str], JsonObject]:
    """Partner and externalId of a line, and its JSON. Raises LineError."""
    record = parse_line(line)
    if missing := [name for name in ("partner", "externalId", "kind") if name not in record]:
        raise LineError("is missing", missing[0], "required")
    if record["kind"] not in _IMPORTED:
        raise LineError(f"must be one of: {', '.join(_IMPORTED)}", "kind", "notAllowed")
    return (slug_of(record.pop("partner")), external_id_of(record.pop("externalId"))), record


def _entry(record: Any, user: tuple[UUID, date] | None) -> FileEntry:
    """The entry of a line. Raises LineError."""
    if user is None:
        raise LineError(UNKNOWN_USER)
    kind, (user_id, born) = KINDS[record.pop("kind")], user
    try:
        return new_entry(kind, kind.serializer.validated(record, born=born), user_id=user_id)
    except ValidationError as error:
        first = next(field_errors(error.detail))
        # As JSON in ASCII: the name may be the file's own.
        raise LineError(f"{json.dumps(first.field)[1:-1]}: {first.message}") from None
