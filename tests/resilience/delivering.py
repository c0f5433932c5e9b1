"""`deliver_events` on any database."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from django.conf import settings

from tests.slow.live.conftest import production
from tests.support.timeouts import WAIT_SECONDS


def start_delivering(log: Path, **environment: str) -> "subprocess.Popen[bytes]":
    """Start a process; it ends when it is signalled."""
    with log.open("ab") as output:
        return subprocess.Popen(
            [sys.executable, "manage.py", "deliver_events"],
            env=os.environ | production(**environment),
            cwd=Path(settings.BASE_DIR),
            stdout=output,
            stderr=output,
        )


@contextmanager
def delivering(log: Path, **environment: str) -> Iterator[None]:
    """Run a process while the block runs, and end it in order."""
    process = start_delivering(log, **environment)
    try:
        yield
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(timeout=WAIT_SECONDS)
