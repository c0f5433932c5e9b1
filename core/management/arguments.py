"""The arguments of commands, each with one name, metavar and help wherever it is (docs/operations.md)."""

from argparse import ArgumentTypeError
from collections.abc import Callable, Mapping
from datetime import datetime
from functools import partial
from typing import Any, TypeVar
from uuid import UUID

from django.core.exceptions import ValidationError
from django.core.management.base import CommandError

from core.formats import parse_timestamp, parse_whole_number

T = TypeVar("T")


class Argument:
    """An argument of a command, with the flags and options of argparse's `add_argument`.

    find: makes the value of what was given, such as the row of an id. Its ValueError or ValidationError is shown.
    """

    def __init__(self, *flags: str, find: Callable[[Any], Any] | None = None, **options: Any) -> None:
        self.flags, self.find, self.options = flags, find, options

    def add_to(self, parser: Any) -> None:
        """Add it to a parser, or to a group of one."""
        self.name = parser.add_argument(*self.flags, **self.options).dest

    def values(self, options: Mapping[str, Any]) -> dict[str, Any]:
        """What the command gets, by name. Raises CommandError, and what `find` raises but a ValueError."""
        value = options[self.name]
        if self.find and value is not None:
            try:
                value = self.find(value)
            except ValueError as error:
                raise CommandError(f"{self.flags[0]} {error}.") from None
            except ValidationError as error:
                raise CommandError(f"{self.flags[0]}: {' '.join(error.messages)}") from None
        return {self.name: value}


class OneOf(Argument):
    """Arguments of which at most one is given, or exactly one."""

    def __init__(self, *arguments: Argument, required: bool = False) -> None:
        self.arguments, self.required = arguments, required

    def add_to(self, parser: Any) -> None:
        """Add them as a group."""
        group = parser.add_mutually_exclusive_group(required=self.required)
        for argument in self.arguments:
            argument.add_to(group)

    def values(self, options: Mapping[str, Any]) -> dict[str, Any]:
        """All of them, those that are not given with their defaults."""
        return {name: value for argument in self.arguments for name, value in argument.values(options).items()}


def number(flag: str, lowest: int, highest: int, text: str, *, default: int | None = None, **options: Any) -> Argument:
    """A whole number in this range. text: its help, which the default is added to."""
    text = text if default is None else f"{text} (default: {default})"
    kind = partial(parse_whole_number, lowest=lowest, highest=highest)
    return Argument(flag, type=_parsed_by(kind), default=default, metavar="N", help=text, **options)


def row_id(name: str, metavar: str) -> Argument:
    """The id of a row, for a rule that finds the row itself."""
    return Argument(
        name, metavar=metavar, type=_parsed_by(UUID), help="as the command that made it, or a list, shows it"
    )


def reason(kept: str = "stored permanently") -> Argument:
    """--reason, which the audit log has too."""
    return Argument("--reason", required=True, metavar="TEXT", help=f"why; {kept}")


def moment(text: str) -> datetime:
    """A date-time, for `find`. Raises ValueError."""
    try:
        return parse_timestamp(text)
    except ValueError:
        raise ValueError("must be an RFC 3339 date-time, such as 2026-01-31T12:00:00Z") from None


REASON = reason()
DRY_RUN = Argument("--dry-run", action="store_true", help="change nothing; only say what would be done")


def _parsed_by(parse: Callable[[str], T]) -> Callable[[str], T]:
    """A type for argparse, which shows the text of no other error."""

    def convert(text: str) -> T:
        try:
            return parse(text)
        except ValueError as error:
            raise ArgumentTypeError(str(error)) from None

    return convert
