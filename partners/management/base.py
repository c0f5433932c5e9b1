"""What every command of ops shares: `--json`, and errors of one line with exit status 1 (docs/operations.md)."""

import json
from argparse import ArgumentParser
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from django.core.exceptions import ImproperlyConfigured, ValidationError
from django.core.management.base import BaseCommand, CommandError
from django.db import InterfaceError, OperationalError

from partners.models import Partner


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

    def perform(self, **options: Any) -> Outcome:
        """Does the work, all of it or none of it. Raises CommandError with one clear line."""
        raise NotImplementedError

    def handle(self, *args: Any, **options: Any) -> None:
        """Runs the command and prints its outcome."""
        try:
            outcome = self.perform(**options)
        except ValidationError as error:
            raise CommandError(" ".join(error.messages)) from error
        except (ImproperlyConfigured, ValueError, LookupError) as error:
            raise CommandError(str(error)) from error
        except (OperationalError, InterfaceError) as error:
            raise CommandError("The database cannot be reached, or did not answer in time.") from error
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
