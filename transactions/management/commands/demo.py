import io
import json
import os
import shlex
import signal
import socket
import subprocess
import sys
import time
from argparse import ArgumentParser
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError
from django.test.utils import override_settings

from partners.management.base import ending_signals
from partners.management.commands.call import Client, NoResponseError
from partners.models import Partner
from partners.webhooks import endpoints
from transactions.demo.old_records import make_due, make_held
from transactions.demo.overdue import make_overdue
from transactions.demo.people import DUE, HELD, OVERDUE, external_id
from transactions.demo.receiver import Receiver, receiving
from transactions.demo.seeding import PARTNER, seed, summary
from transactions.demo.walk import UnexpectedResponseError, Walk
from users.models import Staff

USERS, CONVERSIONS = 40, 600
START_SECONDS = 120
# A shell's status of a command that Ctrl-C ended.
INTERRUPTED = 130
LOG = settings.BASE_DIR / ".local" / "demo-service.log"
# The endpoint with this description is removed with the receiver.
DESCRIPTION = "The demo's receiver"
REASONS = {"active": "Identity and address confirmed.", "suspended": "The partner reported a lost phone."}


class Command(BaseCommand):
    help = "Migrate, seed, serve, and walk through the API with real signed requests. Only if DEBUG=true."
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--exit", action="store_true", help="stop after the walk; exit status 0 if all was right")

    def handle(self, *args: Any, **options: Any) -> None:
        if not settings.DEBUG:
            raise CommandError("The demo is for development: it needs DEBUG=true.")
        for number in ending_signals():
            signal.signal(number, signal.default_int_handler)
        try:
            self.run(keep_serving=not options["exit"])
        except KeyboardInterrupt as interrupt:
            raise CommandError("The demo was interrupted.", returncode=INTERRUPTED) from interrupt

    def run(self, *, keep_serving: bool) -> None:
        self.say("Migrating the database …")
        call_command("migrate", verbosity=0)
        seeded = seed(users=USERS, conversions=CONVERSIONS, report=self.say)
        partner = Partner.objects.get(slug=PARTNER)
        make_overdue(partner.users.get(external_id=external_id(OVERDUE)))
        # Unless an earlier demo has erased them.
        for user in partner.users.filter(external_id=external_id(DUE)):
            make_due(user)
        for user in partner.users.filter(external_id=external_id(HELD)):
            make_held(user, by=Staff.objects.get(username="demo-reviewer"))
        self.say("Starting the service …")
        with receiving() as receiver, _endpoint_removed(partner), _service(receiver) as (server, base_url):
            # The service is on this machine.
            os.environ["no_proxy"] = "*"
            client = Client(base_url, seeded["apiKey"], seeded["secret"])
            other_secret = Client(base_url, seeded["apiKey"], "psi_secret_of_somebody_else")
            _wait_until_ready(server, client)
            conversions = partner.users.get(external_id=external_id(1)).conversions.count()
            walk = Walk(client, other_secret, (external_id(1), conversions), self.decide, self.ask, self.say)
            try:
                walk.run()
                walk.run_events(receiver, self.add_webhook)
                walk.run_two(self.reinstate)
            except (UnexpectedResponseError, NoResponseError) as error:
                raise CommandError(str(error)) from error
            self.say(f"\nAll {walk.steps} steps passed: each response is what the contract says.\n")
            if keep_serving:
                # From the first line of the addresses on, a signal is how the demo is meant to end.
                with suppress(KeyboardInterrupt):
                    self.show_addresses(base_url, seeded, receiver.authorities.parent)
                    server.wait()

    def decide(self, user: str, status: str) -> None:
        reason = REASONS[status]
        self.say(f'   $ manage.py change_user_status {PARTNER} {user} {status} --by demo-reviewer --reason "{reason}"')
        output = io.StringIO()
        call_command("change_user_status", PARTNER, user, status, by="demo-reviewer", reason=reason, stdout=output)
        self.say(f"   {output.getvalue().strip()}")

    def ask(self, user: str) -> None:
        fields = ("--field", "addressLine1", "--field", "postalCode", "--message", "Which apartment?")
        self.show("request_information", PARTNER, user, "--code", "addressUnclear", *fields, "--by", "demo-reviewer")

    def reinstate(self, user: str) -> None:
        rule = ("suspended", "active", "always")
        self.show("set_approval_rule", *rule)
        by_first = ("--reason", "The phone was found.", "--by", "demo-reviewer")
        proposed = self.show("propose_user_status", PARTNER, user, "active", *by_first)
        proposal_id = proposed.split()[1]
        self.show("approve_proposal", proposal_id, "--by", "demo-reviewer-2")

    def show(self, name: str, *arguments: str) -> str:
        """Run a command as it is shown; return what it printed."""
        self.say(f"   $ manage.py {shlex.join((name, *arguments))}")
        output = io.StringIO()
        call_command(name, *arguments, stdout=output)
        printed = output.getvalue().strip()
        self.say(f"   {printed}")
        return printed

    def add_webhook(self, url: str) -> str:
        self.say(f"   $ manage.py add_webhook {PARTNER} {url}")
        output = io.StringIO()
        with override_settings(WEBHOOK_ALLOW_LOOPBACK=True):
            call_command("add_webhook", PARTNER, url, description=DESCRIPTION, json=True, stdout=output)
        webhook = json.loads(output.getvalue())
        self.say(f"   Webhook {webhook['webhookId']}, secret {webhook['secret']}")
        return str(webhook["secret"])

    def show_addresses(self, base_url: str, seeded: dict[str, Any], certificates: Path) -> None:
        lines, sandbox = "\n".join(summary(seeded)), seeded["sandbox"]
        self.say(f"""\
Serving on {base_url} until Ctrl-C.
{lines}

Docs          {base_url}/docs/   (from a key to the first signed call)
Go live       {base_url}/docs/go-live/   (all of the integration, with the key of the sandbox)
Back office   {base_url}/admin/   (log in as demo-reviewer, for example)
In another terminal, so that invitations of create_staff, for example, have this port:
  export PORT={base_url.rpartition(":")[2]}
To sign and send a request with the key of the sandbox there:
  export PSI_BASE_URL={base_url} PSI_API_KEY={sandbox["apiKey"]} PSI_SECRET={sandbox["secret"]}
  .venv/bin/python manage.py call GET /v1/ping --base-url {base_url}
To receive webhooks on https://localhost:8443/, as step 9 of /docs/go-live/ does:
  export TLS_CERT={certificates}/cert.pem TLS_KEY={certificates}/key.pem
The service's log: {LOG.relative_to(settings.BASE_DIR)}""")

    def say(self, text: str) -> None:
        self.stdout.write(text)
        self.stdout.flush()


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


@contextmanager
def _service(receiver: Receiver) -> Iterator[tuple[subprocess.Popen[bytes], str]]:
    """The production server with its base URL, on PORT or, if that is taken, on a free port; and deliver_events.

    They log into LOG; webhooks reach the receiver.
    """
    port = _free_port(settings.HOST, settings.PORT)
    receiver_settings = {"WEBHOOK_CA_BUNDLE": str(receiver.authorities), "WEBHOOK_ALLOW_LOOPBACK": "true"}
    environment = os.environ | {"PORT": str(port)} | receiver_settings
    with LOG.open("wb") as log:
        server, deliverer = (
            subprocess.Popen([sys.executable, *command], env=environment, cwd=settings.BASE_DIR, stdout=log, stderr=log)  # noqa: S603
            for command in (("-m", "config.serve"), ("manage.py", "deliver_events"))
        )
    try:
        yield server, f"http://{settings.HOST}:{port}"
    finally:
        for process in (server, deliverer):
            process.terminate()
        for process in (server, deliverer):
            process.wait()


def _free_port(host: str, preferred: int) -> int:
    for port in (preferred, 0):
        with suppress(OSError), socket.create_server((host, port)) as probe:
            number: int = probe.getsockname()[1]
            return number
    raise CommandError(f"No port is free on {host}.")


def _wait_until_ready(server: subprocess.Popen[bytes], client: Client) -> None:
    deadline = time.monotonic() + START_SECONDS
    while server.poll() is None and time.monotonic() < deadline:
        with suppress(NoResponseError):
            client.send("GET", "/v1/ping")
            return
        time.sleep(0.1)
    raise CommandError(f"The service did not start: see {LOG.relative_to(settings.BASE_DIR)}.")
