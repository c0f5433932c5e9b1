import json
import os
import signal
import socket
import subprocess
import sys
import time
from argparse import ArgumentParser
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError
from environ import Env

from partners.client import NoAnswerError, SignedClient
from partners.models import Partner
from partners.webhooks import endpoints
from transactions.demo.people import external_id
from transactions.demo.receiver import Received, Receiver, receiving
from transactions.demo.seeding import PARTNER, Seeded, seed
from transactions.demo.walk import Walk, WrongAnswerError
from transactions.management.commands.seed_demo import summary

USERS = 40
CONVERSIONS = 600
START_SECONDS = 120
# A shell's status of a command that Ctrl-C ended.
INTERRUPTED = 130
LOG = settings.BASE_DIR / ".local" / "demo-service.log"
# Of the endpoint, which is removed with the receiver.
DESCRIPTION = "The demo's receiver"
REASONS = {
    "active": "Identity and address confirmed.",
    "suspended": "The partner reported a lost phone.",
}
# Ctrl-C, `kill` and service managers, and a terminal's window that is closed.
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Command(BaseCommand):
    help = "Migrate, seed, serve, and walk through the API with real signed requests. Only if DEBUG=true."
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--exit", action="store_true", help="stop after the walk; exit status 0 if all was right")

    def handle(self, *args: Any, **options: Any) -> None:
        if not settings.DEBUG:
            raise CommandError("The demo is for development: it needs DEBUG=true.")
        try:
            _interrupt_on_signals()
            self.run(keep_serving=not options["exit"])
        except KeyboardInterrupt as interrupt:
            raise CommandError("The demo was interrupted.", returncode=INTERRUPTED) from interrupt

    def run(self, *, keep_serving: bool) -> None:
        self.say("Migrating the database …")
        call_command("migrate", verbosity=0)
        seeded = seed(users=USERS, conversions=CONVERSIONS, report=self.say)
        self.say("Starting the service …")
        with receiving() as receiver, _endpoint_removed(seeded.partner), _service(receiver) as (process, base_url):
            client = SignedClient(base_url, seeded.key.api_key, seeded.key.secret)
            _wait_until_ready(process, client)
            conversions = seeded.partner.users.get(external_id=external_id(1)).conversions.count()
            walk = Walk(client, (external_id(1), conversions), self.decide, self.say)
            try:
                walk.run()
                walk.run_events(receiver, partial(self.add_webhook, receiver))
            except (WrongAnswerError, NoAnswerError) as error:
                raise CommandError(str(error)) from error
            self.say(f"\nAll {walk.steps} steps were answered as the contract says.\n")
            if keep_serving:
                self.show_addresses(base_url, receiver.url, seeded)
                receiver.on_receipt = self.show_webhook
                with suppress(KeyboardInterrupt):
                    process.wait()

    def decide(self, user: str, status: str) -> None:
        reason = REASONS[status]
        self.say(f'   $ manage.py change_user_status {PARTNER} {user} {status} --by demo-reviewer --reason "{reason}"')
        call_command("change_user_status", PARTNER, user, status, by="demo-reviewer", reason=reason, stdout=self.stdout)

    def add_webhook(self, receiver: Receiver, url: str) -> str:
        self.say(f"   $ manage.py add_webhook {PARTNER} {url}")
        # In a process apart, whose settings allow this machine, as the service's do.
        added = subprocess.run(  # noqa: S603 - our own command
            [sys.executable, "manage.py", "add_webhook", PARTNER, url, "--description", DESCRIPTION, "--json"],
            env=_environment() | _receiver_settings(receiver),
            cwd=settings.BASE_DIR,
            capture_output=True,
            text=True,
            check=False,
        )
        if added.returncode:
            raise WrongAnswerError(f"add_webhook failed: {added.stderr.strip()}")
        webhook = json.loads(added.stdout)
        self.say(f"   Webhook {webhook['webhookId']}, secret {webhook['secret']}")
        return str(webhook["secret"])

    def show_webhook(self, received: Received) -> None:
        self.say(f"Webhook: {json.dumps(received.event)}")

    def show_addresses(self, base_url: str, webhook_url: str, seeded: Seeded) -> None:
        credentials = "\n".join(summary(seeded))
        self.say(f"""\
Serving on {base_url} until Ctrl-C.
{credentials}

Docs          {base_url}/docs   (from a key to the first signed call)
Go live       {base_url}/docs/go-live   (all of the integration, with the key of the sandbox)
Back office   {base_url}/admin/   (log in as demo-reviewer, for example)
Webhooks      {webhook_url}   (events that arrive are printed here)
To sign and send a request, in another terminal:
  export PSI_API_KEY={seeded.key.api_key}
  export PSI_SECRET={seeded.key.secret}
  .venv/bin/python manage.py call GET /v1/ping --base-url {base_url}
The service's log: {LOG.relative_to(settings.BASE_DIR)}""")

    def say(self, text: str) -> None:
        self.stdout.write(text)
        self.stdout.flush()


def _interrupt_on_signals() -> None:
    """Raise KeyboardInterrupt at the first signal; ignore later ones during the shutdown."""

    def interrupt(*_: object) -> None:
        for number in SIGNALS:
            # A function, because child processes would inherit SIG_IGN.
            signal.signal(number, lambda *_: None)
        raise KeyboardInterrupt

    # Signals that this process was started to ignore (nohup, a shell's background job) stay ignored.
    for number in SIGNALS:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, interrupt)


@contextmanager
def _endpoint_removed(partner: Partner) -> Iterator[None]:
    """Remove the endpoint of the demo's receiver at the end; and at the start, if an earlier demo was killed."""

    def remove() -> None:
        for endpoint in endpoints.endpoints_of(partner).filter(description=DESCRIPTION):
            endpoints.remove(endpoint)

    remove()
    try:
        yield
    finally:
        remove()


def _receiver_settings(receiver: Receiver) -> dict[str, str]:
    return {"WEBHOOK_CA_BUNDLE": str(receiver.authorities), "WEBHOOK_ALLOW_LOOPBACK": "true"}


@contextmanager
def _service(receiver: Receiver) -> Iterator[tuple[subprocess.Popen[bytes], str]]:
    """The production server with its base URL, on PORT or, if that is taken, on a free port; it logs into LOG.

    Its webhooks reach the receiver.
    """
    port = _free_port(settings.HOST, settings.PORT)
    internal = _free_port(settings.INTERNAL_HOST, settings.INTERNAL_PORT) if settings.INTERNAL_PORT else 0
    with LOG.open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "config.serve", "--deliver-events"],
            env=_environment() | {"PORT": str(port), "INTERNAL_PORT": str(internal)} | _receiver_settings(receiver),
            cwd=settings.BASE_DIR,
            stderr=log,
        )
    try:
        yield process, f"http://{settings.HOST}:{port}"
    finally:
        process.terminate()
        process.wait()


def _environment() -> dict[str, str]:
    """The environment without the values of `.env`: the service reads the file itself, again at each SIGHUP."""
    in_file: dict[str, str] = {}

    class File(Env):  # type: ignore[misc]
        ENVIRON = in_file

    File.read_env(settings.BASE_DIR / ".env")
    return {name: value for name, value in os.environ.items() if in_file.get(name) != value}


def _free_port(host: str, preferred: int) -> int:
    for port in (preferred, 0):
        with suppress(OSError), socket.create_server((host, port)) as probe:
            number: int = probe.getsockname()[1]
            return number
    raise CommandError(f"No port is free on {host}.")


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
