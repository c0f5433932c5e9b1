import json
from collections.abc import Mapping
from typing import Any

from django.core.exceptions import ValidationError as InvalidValue
from django.db import transaction
from rest_framework.exceptions import ValidationError

from core.database import statements
from core.management.arguments import DRY_RUN
from partners.api.errors import field_errors
from partners.api.request import JsonObject
from transactions.imports import UNKNOWN_USER, parse_line, slug, values_of
from transactions.management import FILE, REJECTS, LinesCommand
from users.file.entries import lock_users, new_entry, record_changes
from users.file.kinds import KINDS, Kind
from users.profile.field_rules import external_id

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
    arguments = (FILE, REJECTS, DRY_RUN)
    done, batch_lines = "recorded", 1000

    def parse(self, line: bytes) -> tuple[Any, JsonObject]:
        record = parse_line(line)
        head = JsonObject([(name, record.pop(name)) for name in _HEAD if name in record])
        return values_of(head, _HEAD), record

    def store(self, records: Mapping[int, tuple[Any, JsonObject]]) -> tuple[int, dict[int, str]]:
        reasons, entries = dict[int, str](), []
        with statements.response_timeout(STATEMENT_SECONDS), transaction.atomic():
            statements.fetch_one(_LIMITS, (f"{STATEMENT_SECONDS}s", f"{LOCK_SECONDS}s"))
            users = lock_users({(head["partner"], head["externalId"]) for head, _ in records.values()})
            for number, (head, record) in records.items():
                user_id, born = users.get((head["partner"], head["externalId"]), (None, None))
                if user_id is None or born is None:
                    reasons[number] = UNKNOWN_USER
                    continue
                kind = head["kind"]
                try:
                    entries.append(new_entry(kind, kind.serializer.validated(record, born=born), user_id=user_id))
                except ValidationError as error:
                    first = next(field_errors(error.detail))
                    # As JSON in ASCII: the name may be the file's own.
                    reasons[number] = f"{json.dumps(first.field)[1:-1]}: {first.message}"
            recorded = record_changes(entries)
            transaction.set_rollback(self.is_dry_run)
        return recorded, reasons


def _kind(value: Any) -> Kind:
    if value not in _IMPORTED:
        raise InvalidValue(f"Must be one of: {', '.join(_IMPORTED)}.")
    return KINDS[value]


_HEAD = {"partner": slug, "externalId": external_id, "kind": _kind}
