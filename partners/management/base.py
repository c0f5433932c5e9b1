"""The base of all commands: `--json`, and errors as one line with exit status 1 (docs/operations.md)."""

import json
import os
import pwd
import signal
import sys
from argparse import ArgumentTypeError
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from datetime import datetime
from types import FrameType
from typing import Any, BinaryIO, NamedTuple

from django.core.exceptions import NON_FIELD_ERRORS, ImproperlyConfigured, ValidationError
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import DatabaseError, InterfaceError, transaction

from core import audit
from core.database import errors, history_context
from core.formats.rates import parse_whole_number
from core.formats.rfc_3339 import format_timestamp
from core.models import AuditEntry
from core.refusals import RefusedError
from partners.authentication.keys import IssuedKey
from partners.models import ApiKey, Partner, WebhookEndpoint

# A shell adds the signal's number to it.
STATUS_OF_SIGNALS = 128
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
    """The result of a command.

    data: for `--json`, or the lines of a JSON object that is long. lines: for people. status: the exit status.
    """

    data: Mapping[str, Any] | Iterator[str]
    lines: Iterable[str]
    status: int = 0


class ServiceCommand(BaseCommand):
    """A command that prints its outcome as text or as one JSON object."""

    # Checked at the start of the service, not before each command.
    requires_system_checks = ()
    # Whether the outcome has a secret that is not shown again.
    shows_secret = False
    # Whether the run itself has a line in the audit log: of commands that change rows without a line of their own.
    records_run = False

    def create_parser(self, *args: Any, **kwargs: Any) -> CommandParser:
        """Django's parser with --json."""
        parser = super().create_parser(*args, **kwargs)
        parser.add_argument("--json", action="store_true", dest="as_json", help="print one JSON object")
        return parser

    def perform(self, *args: Any, **options: Any) -> Outcome:
        """Do the work. Raises CommandError with one line, or an exception that `handle` translates."""
        raise NotImplementedError

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
        _require_text(options)
        # Nothing is stored whose secret could not be shown.
        with (
            translated_errors(),
            history_context.acting(**self.actor(options)),
            transaction.atomic() if self.shows_secret else nullcontext(),
        ):
            if self.records_run and not options.get("dry_run"):
                audit.record(AuditEntry.COMMAND_RUN, object=self.name)
            outcome = self.perform(**options)
            data = outcome.data
            as_json = [json.dumps(data)] if isinstance(data, Mapping) else data
            lines = as_json if options["as_json"] else outcome.lines
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
        if outcome.status:
            raise SystemExit(outcome.status)


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
    except Exception as error:
        text = explained(error)
        if not text or isinstance(error, CommandError):
            raise
        raise CommandError(text) from error


def explained(error: Exception) -> str:
    """One line for an error that an operator can correct; empty for any other."""
    if isinstance(error, ValidationError):
        return _one_line(error)
    if isinstance(error, (CommandError, ImproperlyConfigured, RefusedError)):
        return str(error)
    if isinstance(error, (ApiKey.DoesNotExist, WebhookEndpoint.DoesNotExist)):
        return "API key not found." if isinstance(error, ApiKey.DoesNotExist) else "Webhook not found."
    if isinstance(error, (DatabaseError, InterfaceError)):
        # Django's MigrationSchemaMissing hides the database's error.
        state = errors.sqlstate(error) or errors.sqlstate(error.__context__)
        return _REFUSALS.get(state or "") or (unreachable(error) if errors.is_unreachable(error) else "")
    return ""


def unreachable(failure: BaseException) -> str:
    """Why there is no connection to the database, for operators."""
    said = errors.connection_refusal(failure)
    if not said:
        return "The database cannot be reached, or did not respond in time."
    return f"The database refused the connection: {said}. Check DATABASE_URL and OWNER_DATABASE_URL."


def ending_signals() -> list[signal.Signals]:
    """The signals by which a command is asked to end: Ctrl-C, an end by systemd, the end of its terminal.

    Without those that this process was started to ignore, by nohup or as a shell's background job.
    """
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


def standard_input() -> BinaryIO:
    """Standard input. Raises CommandError if the process was started without one."""
    if sys.stdin is None:
        raise CommandError("Standard input is closed.")
    return sys.stdin.buffer


def find_partner(slug: str) -> Partner:
    """The partner with this slug. Raises CommandError."""
    try:
        return Partner.objects.get(slug=slug)
    except Partner.DoesNotExist:
        raise CommandError(f"Partner {slug!r} not found.") from None


def issued_key(issued: IssuedKey, further: Iterable[str] = ()) -> Outcome:
    """The outcome that shows a new key and its secret. further: lines for people."""
    record, slug = issued.record, issued.record.partner.slug
    expires_at = optional_rfc_3339(record.expires_at)
    lines = [
        f"API key:  {issued.api_key}",
        f"Secret:   {issued.secret}",
        f"Label:    {record.label or '-'}",
        f"Expires:  {expires_at or 'never'}",
        *further,
        "The key and the secret are shown this once and cannot be read back: hand them over safely now.",
    ]
    if not record.partner.enabled:
        lines.append(f"Partner {slug} is disabled: the key is refused until `set_partner {slug} --enable`.")
    return Outcome(
        {"apiKey": issued.api_key, "secret": issued.secret, "label": record.label, "expiresAt": expires_at}, lines
    )


def key_data(key: ApiKey) -> dict[str, Any]:
    """An API key for `--json`."""
    return {
        "prefix": key.prefix,
        "label": key.label,
        "state": key.state,
        "createdAt": format_timestamp(key.created_at),
        "lastUsedAt": optional_rfc_3339(key.last_used_at),
        "expiresAt": optional_rfc_3339(key.expires_at),
        "revokedAt": optional_rfc_3339(key.revoked_at),
    }


def whole_number(lowest: int, highest: int) -> Callable[[str], int]:
    """A type for argparse: a whole number in this range."""

    def convert(text: str) -> int:
        try:
            return parse_whole_number(text, lowest, highest)
        except ValueError as error:
            raise ArgumentTypeError(f"must be {error}") from None

    return convert


def optional_rfc_3339(value: datetime | None) -> str | None:
    """A date-time for `--json`."""
    return None if value is None else format_timestamp(value)


def table(headings: Sequence[str], rows: Iterable[Sequence[object]]) -> list[str]:
    """Lines of aligned columns; a dash for an empty cell."""
    cells = [[str(cell) for cell in headings]]
    cells += [["-" if cell in {None, ""} else str(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return ["  ".join(map(str.ljust, row, widths)).rstrip() for row in cells]


def _one_line(error: ValidationError) -> str:
    if not hasattr(error, "error_dict"):
        return " ".join(error.messages)
    fields: dict[str, list[str]] = error.message_dict
    return " ".join(
        ("" if field == NON_FIELD_ERRORS else f"{field}: ") + " ".join(texts) for field, texts in fields.items()
    )


def _require_text(options: Mapping[str, Any]) -> None:
    """A command line can contain bytes that are not UTF-8; the database accepts neither these nor NUL."""
    for name, value in options.items():
        if isinstance(value, str) and ("\0" in value or value != value.encode(errors="replace").decode()):
            raise CommandError(f"{name} is not text in UTF-8.")
