"""`make serve` and the demo run `deliver_events` beside the workers; partners' requests do not depend on it."""

import os
import signal
from pathlib import Path

import psutil
import pytest

from partners.models import Event, Partner
from tests.factories import UserFactory
from tests.support.watched import Watched, wait_until, watched
from users.models import Status, User


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "log"


def decide(partner: Partner) -> User:
    """Return a user with a decision, whose event waits in the outbox."""
    return UserFactory.create(partner=partner, status=Status.ACTIVE)


def is_placed(user: User) -> bool:
    """Whether the user's event is in the feed."""
    return Event.objects.filter(user_id=user.pk).exists()


def deliverers(service: Watched) -> set[int]:
    """Return the children of the master that listen on no port."""
    return {child.pid for child in psutil.Process(service.process.pid).children() if listens(child) is False}


def listens(child: psutil.Process) -> bool | None:
    """Whether a process listens on a port; None of one that has ended, perhaps just now."""
    try:
        if child.status() == psutil.STATUS_ZOMBIE:
            return None
        return any(end.status == psutil.CONN_LISTEN for end in child.net_connections("tcp"))
    except psutil.NoSuchProcess:
        return None


def test_events_are_placed_again_when_the_deliverer_was_killed_or_replaced(partner: Partner, log: Path) -> None:
    with watched(log, "--deliver-events") as service:
        first = decide(partner)
        wait_until(lambda: is_placed(first))
        (killed,) = deliverers(service)
        os.kill(killed, signal.SIGKILL)
        second = decide(partner)
        wait_until(lambda: is_placed(second))
        wait_until(lambda: len(deliverers(service)) == 1)
        before = deliverers(service)
        assert before != {killed}

        service.process.send_signal(signal.SIGHUP)
        wait_until(lambda: len(deliverers(service)) == 1 and deliverers(service) != before)
        third = decide(partner)
        wait_until(lambda: is_placed(third))
        children = psutil.Process(service.process.pid).children()

        service.process.terminate()
        wait_until(lambda: service.process.poll() == 0)
        assert not any(child.is_running() for child in children)
    assert {line["level"] for line in service.lines()} <= {"info"}, service.lines()


def test_the_deliverer_ends_with_a_killed_master(partner: Partner, log: Path) -> None:
    with watched(log, "--deliver-events") as service:
        wait_until(lambda: len(deliverers(service)) == 1)
        user = decide(partner)
        wait_until(lambda: is_placed(user))
        children = psutil.Process(service.process.pid).children()
        (deliverer,) = [psutil.Process(pid) for pid in deliverers(service)]
        service.process.kill()
        wait_until(lambda: not deliverer.is_running())
        for child in children:
            if child.is_running():
                child.kill()


def test_without_it_the_service_is_ready(partner: Partner, log: Path) -> None:
    with watched(log) as service:
        user = decide(partner)
        wait_until(lambda: service.health("/readyz")[0] == 200)
        assert not deliverers(service)
        assert not is_placed(user)
