"""`make serve` runs the service and `deliver_events`, and ends both."""

import os
import re
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from django.conf import settings

from events.models import Event
from partners.models import Partner
from tests.factories import UserFactory
from tests.slow.live.conftest import Server, answering, free_port, production
from tests.support.timeouts import WAIT_SECONDS
from tests.support.watched import wait_until
from users.models import Status

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@pytest.fixture
def no_signal_ignored() -> Iterator[None]:
    """Undo what nohup and a shell's background jobs leave to their children: a shell cannot trap what it ignores."""
    ignored = [number for number in SIGNALS if signal.getsignal(number) is signal.SIG_IGN]
    for number in ignored:
        signal.signal(number, signal.SIG_DFL)
    yield
    for number in ignored:
        signal.signal(number, signal.SIG_IGN)


@pytest.fixture
def served(partner: Partner, no_signal_ignored: None) -> Iterator[Server]:
    """The last command of `make serve`, which comes after migrate and collectstatic."""
    recipe = re.search(r"\n\t@(trap .*\n.*\n)", (Path(settings.BASE_DIR) / "Makefile").read_text())
    assert recipe
    python = shlex.quote(sys.executable)
    command = recipe[1].replace("$(BIN)/python", python).replace("$(MANAGE)", f"{python} manage.py").replace("$$", "$")
    port = free_port()
    process = subprocess.Popen(
        ["/bin/sh", "-c", command],
        env=os.environ | production(PORT=str(port)),
        cwd=settings.BASE_DIR,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        yield answering(Server(port, process))
    finally:
        process.terminate()
        process.wait(timeout=WAIT_SECONDS)


@pytest.mark.parametrize("by", SIGNALS)
def test_it_delivers_events_and_a_signal_ends_it_all(partner: Partner, served: Server, by: signal.Signals) -> None:
    user = UserFactory.create(partner=partner, status=Status.ACTIVE)
    wait_until(lambda: Event.objects.filter(user_id=user.pk).exists())
    started = psutil.Process(served.process.pid).children(recursive=True)
    served.process.send_signal(by)
    served.process.wait(timeout=WAIT_SECONDS)
    assert not [process for process in started if process.is_running()]


def test_it_ends_with_the_service(served: Server) -> None:
    started = psutil.Process(served.process.pid).children(recursive=True)
    (web,) = [process for process in started if "config.serve" in process.cmdline() and process.children()]
    web.terminate()
    served.process.wait(timeout=WAIT_SECONDS)
    assert not [process for process in started if process.is_running()]
