"""`manage.py demo`: the main job, shown (`make demo`)."""

import os
import signal
import socket
import subprocess
import sys
import time
from argparse import ArgumentParser
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError
from environ import Env

from partners.client import NoAnswerError, SignedClient
from transactions.demo.plans import external_id
from transactions.demo.seeding import PARTNER, Seeded, seed
from transactions.demo.walk import Walk, WrongAnswerError
from transactions.management.commands.seed_demo import summary

USERS = 40
CONVERSIONS = 600
START_SECONDS = 30
# What a shell reports for a command that Ctrl-C ended.
INTERRUPTED = 130
LOG = settings.BASE_DIR / ".local" / "demo-service.log"
# Ctrl-C, `kill` and service managers, and the terminal's window being closed.
ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Command(BaseCommand):
    """Migrates, seeds, serves, and walks through the API with real signed requests; then keeps serving."""

    help = "Migrates, seeds, serves, and walks through the API with real signed requests. For DEBUG=true alone."
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        """[--exit]."""
        parser.add_argument("--exit", action="store_true", help="end after the walk; exit status 0 if all was right")

    def handle(self, *args: Any, **options: Any) -> None:
        """Runs the demo. Raises CommandError where an answer was not right, or a signal came before the walk's end.

        SIGINT, SIGTERM and SIGHUP end it and the service, and with them the embedded PostgreSQL.
        """
        if not settings.DEBUG:
            raise CommandError("The demo is for development: it runs while DEBUG=true alone.")
        try:
            _interrupt_on_signals()
            self.run(keep_serving=not options["exit"])
        except KeyboardInterrupt as interrupt:
            raise CommandError("The demo was interrupted.", returncode=INTERRUPTED) from interrupt

    def run(self, *, keep_serving: bool) -> None:
        """Seeds, serves and walks. keep_serving: until KeyboardInterrupt, which is then the normal end."""
        self.say("Migrating the database …")
        call_command("migrate", verbosity=0)
        seeded = seed(users=USERS, conversions=CONVERSIONS, say=self.say)
        self.say("Starting the service …")
        with _service() as (process, base_url):
            client = SignedClient(base_url, seeded.key.api_key, seeded.key.secret)
            _wait_until_ready(process, client)
            walk = Walk(client, _user_with_conversions(), self.approve, self.say)
            try:
                walk.run()
            except (WrongAnswerError, NoAnswerError) as error:
                raise CommandError(str(error)) from error
            self.say(f"\nAll {walk.steps} steps answered as the contract says.\n")
            if keep_serving:
                self.tell_where_to_go_on(base_url, seeded)
                with suppress(KeyboardInterrupt):
                    process.wait()

    def approve(self, user: str) -> None:
        """Lets the demo's reviewer make the user active."""
        reason = "Identity and address confirmed."
        self.say(f'   $ manage.py change_user_status {PARTNER} {user} active --by demo-reviewer --reason "{reason}"')
        call_command(
            "change_user_status", PARTNER, user, "active", by="demo-reviewer", reason=reason, stdout=self.stdout
        )

    def tell_where_to_go_on(self, base_url: str, seeded: Seeded) -> None:
        """Addresses and credentials."""
        self.say(
            "\n".join(
                [
                    f"Serving on {base_url} until Ctrl-C.",
                    *summary(seeded),
                    "",
                    f"Docs          {base_url}/docs   (from a key to the first signed call)",
                    f"Back office   {base_url}/admin/   (log in as demo-reviewer, say)",
                    "Your own call, signed for you, in another terminal:",
                    f"  export PSI_API_KEY={seeded.key.api_key}",
                    f"  export PSI_SECRET={seeded.key.secret}",
                    f"  .venv/bin/python manage.py call GET /v1/ping --base-url {base_url}",
                    f"The service's log: {LOG.relative_to(settings.BASE_DIR)}",
                ]
            )
        )

    def say(self, text: str) -> None:
        """Prints at once, so that the walk can be followed."""
        self.stdout.write(text)
        self.stdout.flush()


def _user_with_conversions() -> tuple[str, int]:
    from transactions.models import Conversion  # noqa: PLC0415 - a helper of this command alone

    user = external_id(1)
    return user, Conversion.objects.filter(partner__slug=PARTNER, user__external_id=user).count()


def _interrupt_on_signals() -> None:
    """Has the first of these signals raise KeyboardInterrupt; later ones do not disturb the orderly end."""

    def interrupt(*_: object) -> None:
        for number in ENDING:
            # A function and not SIG_IGN, which the programs started from here would inherit.
            signal.signal(number, lambda *_: None)
        raise KeyboardInterrupt

    # What this process was started to ignore (nohup, a shell's background job) it goes on ignoring.
    for number in ENDING:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, interrupt)


@contextmanager
def _service() -> Iterator[tuple[subprocess.Popen[bytes], str]]:
    """The service as it is served everywhere, on PORT or, where that is taken, on a free one; its log apart."""
    port = _free_port(settings.HOST, settings.PORT)
    internal = _free_port(settings.INTERNAL_HOST, settings.INTERNAL_PORT) if settings.INTERNAL_PORT else 0
    with LOG.open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "config.serve"],
            env=_environment() | {"PORT": str(port), "INTERNAL_PORT": str(internal)},
            cwd=settings.BASE_DIR,
            stderr=log,
        )
    try:
        yield process, f"http://{settings.HOST}:{port}"
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait()


def _environment() -> dict[str, str]:
    """This process's environment without what settings took into it from `.env`.

    The service reads that file itself, at each SIGHUP too, and a variable that is set goes before the file.
    """
    in_file: dict[str, str] = {}

    class File(Env):  # type: ignore[misc]
        ENVIRON = in_file

    File.read_env(settings.BASE_DIR / ".env")
    return {name: value for name, value in os.environ.items() if in_file.get(name) != value}


def _free_port(host: str, wanted: int) -> int:
    for port in (wanted, 0):
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((host, port))
            except OSError:
                continue
            number: int = probe.getsockname()[1]
            return number
    raise CommandError(f"There is no free port on {host}.")


def _wait_until_ready(process: subprocess.Popen[bytes], client: SignedClient) -> None:
    deadline = time.monotonic() + START_SECONDS
    while True:
        try:
            client.send("GET", "/v1/ping")
        except NoAnswerError as error:
            if process.poll() is not None or time.monotonic() > deadline:
                raise CommandError("The service did not start.") from error
            time.sleep(0.1)
        else:
            return
