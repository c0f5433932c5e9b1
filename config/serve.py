"""The one way to serve, for `make serve`, the demo, the tests and production: `python -m config.serve`."""

import os
import sys

import django
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from granian.constants import HTTPModes, Interfaces
from granian.log import LogLevels
from granian.server import Server

# Measured: two threads a process cost the least processor time per request.
THREADS = 2


def main() -> None:
    """Serves on HOST:PORT with WEB_WORKERS processes until SIGTERM or SIGINT; requests under way finish."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    # A bad setting ends the start here, not in each worker.
    try:
        django.setup(set_prefix=False)
    except ImproperlyConfigured as error:
        sys.exit(f"Configuration: {error}")
    Server(
        "config.wsgi:application",
        address=settings.HOST,
        port=settings.PORT,
        interface=Interfaces.WSGI,
        # A body over HTTP/2 may come without a length, which WSGI cannot tell from none; the proxy speaks HTTP/1.1.
        http=HTTPModes.http1,
        workers=settings.WEB_WORKERS,
        blocking_threads=THREADS,
        # A worker that dies is replaced.
        respawn_failed_workers=True,
        workers_kill_timeout=30,
        log_level=LogLevels.warning,
    ).serve()


if __name__ == "__main__":
    main()
