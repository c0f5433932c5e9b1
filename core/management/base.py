"""The base of all commands: `--json`, and errors as one line with exit status 1 (docs/operations.md)."""

import json
import os
import pwd
import re
import signal
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from datetime import datetime
from functools import reduce
from string import Formatter
from types import FrameType, SimpleNamespace
from typing import Any, NamedTuple
from uuid import UUID

from django.apps import apps
from django.core.exceptions import NON_FIELD_ERRORS, ImproperlyConfigured, ObjectDoesNotExist, ValidationError
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import DatabaseError, InterfaceError, transaction
from django.utils.text import capfirst

from core import audit
from core.database import errors, statements
from core.formats import format_timestamp
from core.management.arguments import Argument
from core.models import AuditEntry
from core.refusals import RefusedError

# The last line of a command that makes a secret.
SHOWN_ONCE = "Secrets are shown this once and cannot be read back: hand them over safely now."
# The keys are SQLSTATEs.
_REFUSALS = {
    "25006": "The database is read-only: does DATABASE_URL name a standby?",
    "40P01": "Another session was in the way (deadlock): run it again.",
    "42501": "The database's role lacks privileges: `migrate` and `setup_database_roles` set them; they need"
    " OWNER_DATABASE_URL.",
    "53100": "The database's disk is full: make room there; nothing was changed.",
    "42P01": "The database does not have this version's tables: run `migrate` first.",
    "55P03": "Another session held a lock for too long (lock timeout): run it again.",
}


class Outcome(NamedTuple):
    """The result of a command: for `--json` (or the lines of a long object), for people, and the exit status."""

    data: Mapping[str, Any] | Iterator[str]
    text: str | Iterable[str]
    status: int = 0


class ServiceCommand(BaseCommand):
    """A command that prints its outcome as text or JSON: that of its `perform`, or of the rule that it names."""

    # Checked at the start of the service, not before each command.
    requires_system_checks = ()
    arguments: Sequence[Argument] = ()
    # Called with the arguments by name.
    rule: Callable[..., Any]
    # The names of `--json`, and where their values are: in an argument, by its name, or in the rule's `result`.
    data: Mapping[str, str]
    # For people: a format of the data, the arguments and the result.
    text: str
    # Of a command that lists the rows of its rule, each with the `data`: their name in `--json`, and the columns that
    # people see, separated by spaces (default: all).
    lists, columns = "", ""
    # Whether the outcome has a secret that is not shown again.
    shows_secret = False
    # Whether the run itself has a line in the audit log: of commands that change rows without a line of their own.
    records_run = False

    def add_arguments(self, parser: CommandParser) -> None:
        """Add the arguments, and --json."""
        parser.add_argument("--json", action="store_true", dest="as_json", help="print one JSON object")
        for argument in self.arguments:
            argument.add_to(parser)

    def perform(self, *args: Any, **options: Any) -> Outcome:
        """Do the work. Raises CommandError with one line, or an exception that `handle` translates."""
        result = self.rule(**options)
        if self.lists:
            rows = [{name: _value_at(row, path) for name, path in self.data.items()} for row in result]
            return listing(self.lists, rows, self.columns)
        known = SimpleNamespace(**options, result=result)
        data = {name: _value_at(known, path) for name, path in self.data.items()}
        return Outcome(data, _PlainFormatter().vformat(self.text, (), vars(known) | data))

    @property
    def name(self) -> str:
        """The command's name."""
        return type(self).__module__.rpartition(".")[2]

    def actor(self, options: Mapping[str, Any]) -> dict[str, str]:
        """Who runs the command and why, for the history and the audit log."""
        given = {name: options[name] for name in ("by", "reason") if options.get(name)}
        return {"operator": operator(), "command": self.name, **given}

    def handle(self, *args: Any, **options: Any) -> None:
        """Run the command and print its outcome. Raises CommandError, and SystemExit for a status."""
        for name, value in options.items():
            # A command line can have bytes that are not UTF-8; the database accepts neither these nor NUL.
            if isinstance(value, str) and ("\0" in value or value != value.encode(errors="replace").decode()):
                raise CommandError(f"{name} is not text in UTF-8.")
        # Nothing is stored whose secret could not be shown.
        with (
            translated_errors(),
            statements.acting(**self.actor(options)),
            transaction.atomic() if self.shows_secret else nullcontext(),
        ):
            if self.records_run and not options.get("dry_run"):
                audit.record(AuditEntry.COMMAND_RUN, object=self.name)
            values: dict[str, Any] = {}
            for argument in self.arguments:
                values |= argument.values(options)
            outcome = self.perform(**values)
            self._print(outcome, as_json=options["as_json"])
        if outcome.status:
            raise SystemExit(outcome.status)

    def _print(self, outcome: Outcome, *, as_json: bool) -> None:
        data, text = outcome.data, outcome.text
        lines = [text] if isinstance(text, str) else text
        if as_json:
            lines = [json.dumps(data, default=plain)] if isinstance(data, Mapping) else data
        try:
            self.stdout.writelines(f"{line}\n" for line in lines)
            self.stdout.flush()
        except OSError as error:
            is_pipe = isinstance(error, BrokenPipeError) and not self.shows_secret
            # What is left in the buffer would fail again when the process ends.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            # The next program of a pipe, such as `head`, has read enough.
            if not is_pipe:
                raise CommandError(f"Standard output cannot be written: {error.strerror}.") from error


def operator() -> str:
    """The account of the operating system that runs this command; the one that called sudo, if any."""
    try:
        return os.environ.get("SUDO_USER") or pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        # A container's account may have no name.
        return str(os.getuid())


@contextmanager
def translated_errors() -> Iterator[None]:
    """Raise CommandError, with one line, in place of an error that an operator can correct."""
    try:
        yield
    except CommandError:
        raise
    except Exception as error:
        if text := explained(error):
            raise CommandError(text) from error
        raise


def explained(error: Exception) -> str:
    """One line for an error that an operator can correct; empty for any other."""
    if isinstance(error, (DatabaseError, InterfaceError)):
        # Django's MigrationSchemaMissing hides the database's error.
        state = errors.sqlstate(error) or errors.sqlstate(error.__context__)
        text = "The database cannot be reached, or did not respond in time."
        if state in _REFUSALS or not errors.is_unreachable(error):
            text = _REFUSALS.get(state or "", "")
        elif said := errors.connection_refusal(error):
            text = f"The database refused the connection: {said}. Check DATABASE_URL and OWNER_DATABASE_URL."
        return text
    if isinstance(error, ValidationError):
        fields = error.message_dict if hasattr(error, "error_dict") else {NON_FIELD_ERRORS: error.messages}
        parts = [("" if name == NON_FIELD_ERRORS else f"{name}: ") + " ".join(texts) for name, texts in fields.items()]
        return " ".join(parts)
    if isinstance(error, (ImproperlyConfigured, RefusedError)):
        return str(error)
    if isinstance(error, OSError) and error.filename is not None:
        return f"{error.filename}: {error.strerror}."
    if isinstance(error, ObjectDoesNotExist):
        models: Iterable[Any] = apps.get_models()
        found = next((model for model in models if isinstance(error, model.DoesNotExist)), None)
        return f"{capfirst(found._meta.verbose_name)} not found." if found else ""  # noqa: SLF001 - Django's public name
    return ""


def ending_signals() -> list[signal.Signals]:
    """Ctrl-C, an end by systemd or of the terminal; without those that nohup or a background job ignores."""
    signals = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    return [number for number in signals if signal.getsignal(number) is not signal.SIG_IGN]


@contextmanager
def collected_signals() -> Iterator[list[signal.Signals]]:
    """Collect the first signal instead of ending the process. A second one ends it."""
    received: list[signal.Signals] = []
    signals = ending_signals()

    def collect(number: int, _frame: FrameType | None) -> None:
        received.append(signal.Signals(number))
        for each in signals:
            signal.signal(each, signal.SIG_DFL)

    before = {each: signal.signal(each, collect) for each in signals}
    try:
        yield received
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)


def stop_for(signals: Sequence[signal.Signals], done: str = "") -> None:
    """Raise CommandError if a signal came, with a shell's exit status of it. done: what was done until then."""
    if signals:
        raise CommandError(f"Stopped by {signals[0].name}{done}.", returncode=128 + signals[0])


def plain(value: Any) -> Any:
    """A value as JSON has it: date-times in RFC 3339, ids as texts."""
    if isinstance(value, datetime):
        return format_timestamp(value)
    return str(value) if isinstance(value, UUID) else value


def _value_at(row: object, path: str) -> Any:
    """The value at a path of attributes; None where one of them is not there, such as a related row."""
    return reduce(lambda value, name: getattr(value, name, None), path.split("."), row)


class _PlainFormatter(Formatter):
    def format_field(self, value: Any, format_spec: str) -> Any:
        return super().format_field(plain(value), format_spec)


def listing(name: str, rows: Sequence[Mapping[str, Any]], columns: str = "", **cells: Callable[[Any], str]) -> Outcome:
    """The outcome of a list with the names of `--json`. columns: those that people see. cells: how they see a value."""
    return Outcome({name: rows}, table(rows, columns, **cells) if rows else ["None."])


def table(rows: Sequence[Mapping[str, Any]], columns: str = "", **cells: Callable[[Any], str]) -> Iterator[str]:
    """Lines of aligned columns under the names of `--json`, as `listing` has them; none without rows."""
    if not rows:
        return
    names = columns.split() or list(rows[0])
    texts = [[re.sub("([A-Z])", r" \1", name).upper() for name in names]]
    texts += [[cells.get(name, _cell)(row[name]) for name in names] for row in rows]
    widths = [max(map(len, column)) for column in zip(*texts, strict=True)]
    yield from ("  ".join(map(str.ljust, line, widths)).rstrip() for line in texts)


def _cell(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    value = ", ".join(value) if isinstance(value, list) else plain(value)
    return "-" if value in {None, ""} else str(value)
