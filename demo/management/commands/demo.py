import base64
import io
import os
import secrets
import signal
import socket
import subprocess
import sys
import time
from argparse import ArgumentParser
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import trustme
from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError

from core.management.base import ending_signals
from demo.seeding import PARTNER, external_id, seed, summary
from demo.walk import Walk
from users.models import User

say = partial(print, flush=True)
# INTERRUPTED: a shell's status of a command that Ctrl-C ended.
START_SECONDS, INTERRUPTED = 120, 130
LOG = settings.BASE_DIR / ".local" / "demo-service.log"
ADDRESSES = """\
Serving on {url} until Ctrl-C.
{lines}

Docs          {url}/docs   (from a key to the first signed call)
Go live       {url}/docs/go-live   (all of the integration, with the key of the sandbox)
Back office   {url}/admin/   (log in as demo-reviewer, for example)
In another terminal, to call the API with the key of the sandbox, and to receive webhooks as /docs/go-live does:
  export PORT={port} PSI_BASE_URL={url} PSI_API_KEY={apiKey} PSI_SECRET={secret}
  export TLS_CERT={folder}/cert.pem TLS_KEY={folder}/key.pem
  .venv/bin/python manage.py call GET /v1/ping --base-url {url}
The service's log: {log}"""


class Command(BaseCommand):
    help = "Migrate, seed, serve, and walk through the API with real signed requests. Only if DEBUG=true."
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--exit", action="store_true", help="stop after the walk; exit status 0 if all was right")

    def handle(self, *args: Any, **options: Any) -> None:
        if not settings.DEBUG:
            raise CommandError("The demo is for development: it needs DEBUG=true.")
        try:
            for number in ending_signals():
                signal.signal(number, signal.default_int_handler)
            self.run(keep_serving=not options["exit"])
        except KeyboardInterrupt as interrupt:
            raise CommandError("The demo was interrupted.", returncode=INTERRUPTED) from interrupt

    def run(self, *, keep_serving: bool) -> None:
        say("Migrating the database …")
        call_command("migrate", verbosity=0)
        say("Seeding, and starting the service …")
        seeded = seed(users=40, conversions=600)
        with TemporaryDirectory(prefix="psi-demo-") as folder, _service(Path(folder)) as (server, base_url):
            called = ("--base-url", base_url, "--api-key", seeded["apiKey"], "--secret", seeded["secret"])

            def manage(name: str, *arguments: str) -> str:
                # Of two secrets the later one counts.
                call_command(name, *(called if name == "call" else ()), *arguments, stdout=(output := io.StringIO()))
                return output.getvalue()

            user = User.objects.get(partner__slug=PARTNER, external_id=external_id(1))
            walk = Walk(manage, say)
            walk.run(user.external_id, user.conversions.count())
            say(f"\nAll {walk.steps} steps passed: each response is what the contract says.\n")
            # From the first line of the addresses on, a signal is how the demo is meant to end.
            with suppress(KeyboardInterrupt):
                if keep_serving:
                    port, lines = base_url.rpartition(":")[2], "\n".join(summary(seeded))
                    known = {"url": base_url, "port": port, "folder": folder, "log": LOG, "lines": lines}
                    say(ADDRESSES.format(**known, **seeded["sandbox"]))
                    server.wait()


@contextmanager
def _service(folder: Path) -> Iterator[tuple["subprocess.Popen[bytes]", str]]:
    """The server with its base URL, and deliver_events, which trusts a certificate that is put into the folder."""
    # PORT, or a free one if that is taken.
    with suppress(OSError), socket.create_server((settings.HOST, 0)) as probe:
        port = probe.getsockname()[1]
    with suppress(OSError), socket.create_server((settings.HOST, settings.PORT)):
        port = settings.PORT
    certificate = (authority := trustme.CA()).issue_cert("localhost")
    authority.cert_pem.write_to_path(str(folder / "authority.pem"))
    certificate.cert_chain_pems[0].write_to_path(str(folder / "cert.pem"))
    certificate.private_key_pem.write_to_path(str(folder / "key.pem"))
    own = {"EVIDENCE_SIGNING_KEY": base64.b64encode(secrets.token_bytes(32)).decode()}
    own |= {"WEBHOOK_CA_BUNDLE": str(folder / "authority.pem"), "WEBHOOK_ALLOW_LOOPBACK": "true"}
    environment = own | os.environ | {"PORT": str(port)}
    with LOG.open("wb") as log:
        server, deliverer = (
            subprocess.Popen([sys.executable, *one], env=environment, cwd=settings.BASE_DIR, stdout=log, stderr=log)  # noqa: S603
            for one in (("-m", "config.serve"), ("manage.py", "deliver_events"))
        )
    try:
        deadline = time.monotonic() + START_SECONDS
        while True:
            with suppress(OSError), socket.create_connection((settings.HOST, port)):
                break
            if server.poll() is not None or time.monotonic() > deadline:
                raise CommandError(f"The service did not start: see {LOG.relative_to(settings.BASE_DIR)}.")
            time.sleep(0.1)
        yield server, f"http://{settings.HOST}:{port}"
    finally:
        for stop in (server.terminate, deliverer.terminate, server.wait, deliverer.wait):
            stop()
