"""The worker that runs `manage.py deliver_events` beside the service, in development and the demo.

In production the command has a unit of its own (deploy/systemd/psi-deliver.service).
"""

import io
import os
import signal
import sys
import threading
from collections.abc import Callable
from multiprocessing.process import BaseProcess
from multiprocessing.synchronize import Event
from typing import Any

from config.server.granian_internals import WorkerFactory
from config.server.worker import CONTEXT, Slot

COMMAND = "deliver_events"


class DelivererSlot(Slot):
    """The place of the worker that delivers events."""

    # As the command ends by itself.
    draining_signal = signal.SIGTERM

    def open(self) -> None:
        """Do nothing: it has no socket."""

    def close(self) -> None:
        """Do nothing."""

    def process(self, factory: WorkerFactory, load: Callable[[], Any]) -> BaseProcess:
        """Return a process, not yet started."""
        return CONTEXT.Process(target=load)

    def load(self, loaded: Event) -> None:
        """Load the service and run the command to its end."""
        # Not imported in the master: new workers load new code.
        import django  # noqa: PLC0415
        from django.core.exceptions import ImproperlyConfigured  # noqa: PLC0415
        from django.core.management import CommandError, call_command  # noqa: PLC0415

        try:
            django.setup(set_prefix=False)
        except ImproperlyConfigured as error:
            sys.exit(f"Configuration: {error}")
        threading.Thread(target=self._end_with_master, daemon=True).start()
        loaded.set()
        try:
            # The log has what it does; its summary would be a line of another form.
            call_command(COMMAND, stdout=io.StringIO())
        except CommandError as error:
            sys.exit(f"{COMMAND}: {error}")
        except Exception:  # noqa: BLE001 - multiprocessing would print it with its message
            sys.excepthook(*sys.exc_info())
            sys.exit(1)

    def _end_with_master(self) -> None:
        self.wait_for_master_to_die()
        os.kill(os.getpid(), signal.SIGTERM)
