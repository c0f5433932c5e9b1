#!/usr/bin/env python
"""Runs a management command: `python manage.py help` lists them."""

import io
import os
import signal
import sys
import traceback

from django.apps import apps
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.core.management import execute_from_command_line


def main() -> None:
    """Run the command; whatever ends it is one line on standard error and exit status 1, Django's commands included."""
    if sys.stdout is None:
        sys.exit("Standard output is closed.")
    if sys.stderr is None:
        # What is written there must not fail, nor go into a file that got its number.
        sys.stderr = open(os.devnull, "w")  # noqa: PTH123, SIM115 - open until the process ends
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # A character that the terminal's encoding lacks must not fail a command that has done its work.
            stream.reconfigure(errors="backslashreplace")
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    try:
        execute_from_command_line(sys.argv)
    except ImproperlyConfigured as error:
        sys.exit(f"Configuration: {error}")
    except KeyboardInterrupt:
        sys.stderr.write("Stopped.\n")
        sys.exit(128 + signal.SIGINT)
    except Exception as error:
        if not apps.ready or settings.DEBUG:
            raise
        if "--traceback" in sys.argv:
            sys.__excepthook__(type(error), error, error.__traceback__)
            sys.exit(1)
        sys.exit(f"CommandError: {in_one_line(error)}")


def in_one_line(error: Exception) -> str:
    """What an operator can do about an exception, or else its class and place: its text can hold anything."""
    from core.management.base import explained  # noqa: PLC0415 - it needs the apps

    *_, place = (at for at in traceback.extract_tb(error.__traceback__) if "site-packages" not in at.filename)
    unexpected = f"{type(error).__name__} at {place.filename}:{place.lineno}; `--traceback` shows all of it."
    return explained(error) or unexpected


if __name__ == "__main__":
    main()
