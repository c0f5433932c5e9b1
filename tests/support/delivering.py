"""`deliver_events` on any database, as a process."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from django.conf import settings

from tests.slow.live.conftest import production
from tests.support.commands import obey_all_signals
from tests.support.timeouts import WAIT_SECONDS


def start_delivering(log: Path = Path(os.devnull), /, **environment: str) -> "subprocess.Popen[bytes]":
    """Start a process; it ends when it is signalled. log: a file for its output."""
    with log.open("ab") as output:
        return subprocess.Popen(
            [sys.executable, "manage.py", "deliver_events"],
            env=os.environ | production(**environment),
            cwd=Path(settings.BASE_DIR),
            stdout=output,
            stderr=output,
            preexec_fn=obey_all_signals,  # noqa: PLW1509 - it only sets what happens at signals
        )


@contextmanager
def delivering(log: Path = Path(os.devnull), /, **environment: str) -> Iterator["subprocess.Popen[bytes]"]:
    """Run a process while the block runs, and end it in order."""
    process = start_delivering(log, **environment)
    try:
        yield process
    finally:
        process.terminate()
        process.wait(timeout=WAIT_SECONDS)
