"""Fills a new database for measurements: `python -m bench.load [--users 1000000] [--conversions 1000000]`.

Only if DEBUG is true: it disables the triggers that keep history.
"""

import argparse
import os
import sys

import django
from django.conf import settings
from django.db import IntegrityError


def main() -> None:
    """Fill the database, under the role of OWNER_DATABASE_URL."""
    parser = argparse.ArgumentParser(prog="python -m bench.load")
    parser.add_argument("--users", type=int, default=1_000_000, help="of 20 partners (1000000)")
    parser.add_argument("--conversions", type=int, default=1_000_000, help="of these users (1000000)")
    options = parser.parse_args()
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    django.setup()
    # These import models.
    from bench.load import conversions, users  # noqa: PLC0415

    if not settings.DEBUG:
        sys.exit("bench.load is for development: set DEBUG=true.")
    try:
        users.fill(users=options.users)
        conversions.fill(conversions=options.conversions)
    except IntegrityError:
        sys.exit("The database has these rows already: use a new one.")


if __name__ == "__main__":
    main()
