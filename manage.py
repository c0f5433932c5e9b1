#!/usr/bin/env python
"""Runs a management command: `python manage.py help` lists them."""

import io
import os
import signal
import sys

from django.core.exceptions import ImproperlyConfigured
from django.core.management import execute_from_command_line


def main() -> None:
    """Run the command; a bad setting or a closed output is one line on standard error and exit status 1."""
    if sys.stdout is None:
        sys.exit("Standard output is closed.")
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


if __name__ == "__main__":
    main()
