"""Fills a new database to measure with: `python -m bench.load [--users 1000000] [--conversions 1000000]`.

For DEBUG=true alone: the triggers that keep history are off while it runs.
"""

import argparse
import os
import sys

import django
from django.conf import settings
from django.db import IntegrityError


def main() -> None:
    """Fills the database, under the role of OWNER_DATABASE_URL; the exit status is 1 where it cannot."""
    parser = argparse.ArgumentParser(prog="python -m bench.load")
    parser.add_argument("--users", type=int, default=1_000_000, help="to make, of 20 partners (1000000)")
    parser.add_argument("--conversions", type=int, default=1_000_000, help="to make, of these users (1000000)")
    options = parser.parse_args()
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    django.setup()
    # They import models.
    from bench.load import conversions, users  # noqa: PLC0415

    if not settings.DEBUG:
        sys.exit("bench.load is for development: it runs while DEBUG=true alone.")
    try:
        users.fill(users=options.users)
        conversions.fill(conversions=options.conversions)
    except IntegrityError:
        sys.exit("These rows are there already: use a new database.")


if __name__ == "__main__":
    main()
