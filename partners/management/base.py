"""What every command of ops shares: `--json`, and errors of one line with exit status 1 (docs/operations.md)."""

import json
import re
from argparse import ArgumentParser, ArgumentTypeError
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from django.core.exceptions import NON_FIELD_ERRORS, ImproperlyConfigured, ValidationError
from django.core.management.base import BaseCommand, CommandError
from django.db import InterfaceError, OperationalError, ProgrammingError
from psycopg.errors import UndefinedTable

from partners.api.json import rfc_3339
from partners.authentication import keys
from partners.models import ApiKey, Partner


class Outcome(NamedTuple):
    """What a command has to say: for `--json`, and for people."""

    data: Mapping[str, Any]
    lines: Iterable[str]


class ServiceCommand(BaseCommand):
    """A command that prints its outcome for people, or as one JSON object and nothing else."""

    # What this service is checked for at its start, not before each command.
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Adds --json; a subclass adds its own."""
        parser.add_argument("--json", action="store_true", dest="as_json", help="print one JSON object")

    def perform(self, *args: Any, **options: Any) -> Outcome:
        """Does the work, all of it or none of it.

        Raises CommandError with one clear line, also for each error of the rules that it expects;
        ValidationError, ImproperlyConfigured and a database that does not answer are translated by
        `handle`. Anything else is a defect, and shows as one.
        """
        raise NotImplementedError

    def handle(self, *args: Any, **options: Any) -> None:
        """Runs the command and prints its outcome."""
        _require_text(options)
        try:
            outcome = self.perform(**options)
        except ValidationError as error:
            raise CommandError(_one_line(error)) from error
        except ImproperlyConfigured as error:
            raise CommandError(str(error)) from error
        except (OperationalError, InterfaceError) as error:
            raise CommandError("The database cannot be reached, or did not answer in time.") from error
        except ProgrammingError as error:
            if not isinstance(error.__cause__, UndefinedTable):
                raise
            raise CommandError("The database does not have this version's tables: run `migrate` first.") from error
        if options["as_json"]:
            self.stdout.write(json.dumps(outcome.data))
        else:
            self.stdout.writelines(f"{line}\n" for line in outcome.lines)


def find_partner(slug: str) -> Partner:
    """The partner of this slug. Raises CommandError."""
    try:
        return Partner.objects.get(slug=slug)
    except Partner.DoesNotExist:
        raise CommandError(f"There is no partner {slug!r}.") from None


def find_key(key_or_prefix: str) -> ApiKey:
    """The API key of this value or visible prefix. Raises CommandError."""
    try:
        return keys.find(key_or_prefix)
    except keys.KeyNotFoundError as error:
        raise CommandError(str(error)) from None


def whole_number(lowest: int, highest: int) -> Callable[[str], int]:
    """A type for argparse: a whole number from `lowest` to `highest`; anything else is exit status 2."""

    def convert(text: str) -> int:
        if not re.fullmatch(r"\d{1,9}", text, re.ASCII) or not lowest <= int(text) <= highest:
            raise ArgumentTypeError(f"must be a whole number from {lowest} to {highest}")
        return int(text)

    return convert


def moment(value: datetime | None) -> str | None:
    """A date-time as the wire has it, for `--json`; None where there is none."""
    return None if value is None else rfc_3339(value)


def table(headings: Sequence[str], rows: Iterable[Sequence[object]]) -> list[str]:
    """Lines of aligned columns, for people; a dash where there is nothing."""
    cells = [[str(cell) for cell in headings]]
    cells += [["-" if cell in {None, ""} else str(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return ["  ".join(map(str.ljust, row, widths)).rstrip() for row in cells]


def _one_line(error: ValidationError) -> str:
    if not hasattr(error, "error_dict"):
        return " ".join(error.messages)
    fields: dict[str, list[str]] = error.message_dict
    lines = (("" if field == NON_FIELD_ERRORS else f"{field}: ") + " ".join(texts) for field, texts in fields.items())
    return " ".join(lines)


def _require_text(options: Mapping[str, Any]) -> None:
    """A command line may hold bytes that are no UTF-8; the database takes neither them nor NUL."""
    for name, value in options.items():
        if isinstance(value, str) and ("\0" in value or value != value.encode(errors="replace").decode()):
            raise CommandError(f"{name} is not text in UTF-8.")
