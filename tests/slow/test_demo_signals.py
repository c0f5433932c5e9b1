"""`manage.py demo` ends in order, whichever signal asks it to."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil
from cryptography import x509
from django.conf import settings

from core.database import serving_role
from partners.models import Partner
from tests.conftest import database_url
from tests.slow.live.conftest import free_port
from tests.support.commands import obey_all_signals
from tests.support.timeouts import WAIT_SECONDS

CHAIN = ("cert.pem", "authority.pem")


@contextmanager
def demo(documents: Path) -> Iterator["subprocess.Popen[str]"]:
    """A demo on the test database; its standard output can be read."""
    environment = os.environ | {
        "DEBUG": "true",
        "DATABASE_URL": database_url(serving_role.SERVING),
        "OWNER_DATABASE_URL": database_url(serving_role.OWNER),
        "DOCUMENT_STORAGE_URL": documents.as_uri(),
        "DJANGO_SETTINGS_MODULE": "config.settings",
        "PORT": str(free_port()),
    }
    process = subprocess.Popen(
        [sys.executable, "manage.py", "demo"],
        cwd=settings.BASE_DIR,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        preexec_fn=obey_all_signals,  # noqa: PLW1509 - it only sets what happens at signals
    )
    try:
        yield process
    finally:
        if process.poll() is None:
            kill([*psutil.Process(process.pid).children(recursive=True), psutil.Process(process.pid)])
        process.communicate(timeout=WAIT_SECONDS)


def kill(processes: Iterable[psutil.Process]) -> None:
    """Ends those that are left."""
    for one in processes:
        with suppress(psutil.NoSuchProcess):
            one.kill()


def read_until(process: "subprocess.Popen[str]", text: str) -> str:
    """What the process printed up to a line with this text."""
    assert process.stdout is not None
    printed = ""
    for line in process.stdout:
        printed += line
        if text in line:
            return printed
    raise AssertionError(f"The demo ended before it said {text!r}:\n{printed}")


def test_a_signal_ends_the_service_too(committed_partner: Partner, tmp_path: Path) -> None:
    with demo(tmp_path) as process:
        printed = read_until(process, "The service's log")
        serving = re.search(r"Serving on http://\S+:(\d+) until Ctrl-C", printed)
        assert serving
        # create_staff prints invitations for it there.
        assert f"export PORT={serving[1]} " in printed
        # The service trusts a receiver with this certificate, as step 9 of /docs/go-live has it.
        certificate = Path(re.search(r"TLS_CERT=(\S+)", printed)[1])  # type: ignore[index]
        chain = [x509.load_pem_x509_certificate(certificate.with_name(name).read_bytes()) for name in CHAIN]
        chain[0].verify_directly_issued_by(chain[1])
        started = psutil.Process(process.pid).children(recursive=True)
        assert started
        process.send_signal(signal.SIGTERM)
        try:
            assert process.wait(timeout=WAIT_SECONDS) == 0
            assert not any(one.is_running() for one in started)
        finally:
            kill(started)


def test_before_it_serves_a_signal_is_a_failure(committed_partner: Partner, tmp_path: Path) -> None:
    with demo(tmp_path) as process:
        read_until(process, "Migrating the database")
        # As when the terminal is closed.
        process.send_signal(signal.SIGHUP)
        output, _ = process.communicate(timeout=WAIT_SECONDS)
        assert process.returncode == 130
        assert output.splitlines()[-1] == "CommandError: The demo was interrupted."
